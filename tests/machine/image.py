# SPDX-License-Identifier: Apache-2.0
"""What a guest is made of: a Debian kernel, an initramfs and a disk with our programs.

Everything is kept in one cache folder under a name that says what went into it, so that a
second run makes nothing again and a changed program is never missed.
"""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = (
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "drivers/block/virtio_blk",
    "fs/overlayfs/overlay",
)
# Program, and the Debian package that has it.
NEEDED = (
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("cpio", "cpio"),
    ("mke2fs", "e2fsprogs"),
    ("strip", "binutils"),
    ("dpkg", "dpkg"),
)
KERNEL_PACKAGE = "linux-image-cloud-amd64"
DISK_SIZE = "256M"  # the saved guest knows it, so it does not depend on the content


class Missing(Exception):
    """The guest cannot be made here; the text names the package that is missing."""


def program(name):
    """The path of a program, also of those that only root has in PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")
    if path is None:
        package = dict(NEEDED)[name]
        raise Missing(f"package {package} is not installed (no {name})")
    return path


def check_programs():
    for name, _ in NEEDED:
        program(name)
    linked = subprocess.run(["ldd", program("busybox")], capture_output=True, text=True)
    if linked.returncode == 0 and "=>" in linked.stdout:
        raise Missing("package busybox-static is not installed (busybox needs libraries)")


def digest(*parts):
    """One name for texts and files."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout


def keep_only(cache, pattern, kept):
    """Removes what earlier runs left under other names."""
    for path in cache.glob(pattern):
        if path != kept:
            path.unlink()


def kernel(cache):
    """The folder with the extracted kernel package, downloaded once with the machine's apt."""
    folder = cache / "kernel"
    if folder.is_dir():
        return folder
    try:
        wanted = run("apt-cache", "depends", "--important", KERNEL_PACKAGE)
        name = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", wanted).group(1)
    except (OSError, RuntimeError, AttributeError) as error:
        raise Missing(f"package {KERNEL_PACKAGE} is not known here (apt-get update?)") from error
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        try:
            run("apt-get", "-q", "download", name, cwd=scratch)
        except (OSError, RuntimeError) as error:
            raise Missing(f"package {name} cannot be downloaded: {error}") from error
        (package,) = Path(scratch).glob("*.deb")
        run(program("dpkg"), "-x", package, f"{scratch}/root")
        os.rename(f"{scratch}/root", folder)
    return folder


def vmlinuz(folder):
    (path,) = (folder / "boot").glob("vmlinuz-*")
    return path


def initramfs(cache, kernel_folder, init):
    (modules,) = (kernel_folder / "lib" / "modules").iterdir()
    parts = [modules / "kernel" / f"{module}.ko" for module in MODULES]
    busybox = Path(program("busybox"))
    made = cache / f"initramfs-{digest(init, busybox, *parts)}.cpio"
    if made.exists():
        return made
    keep_only(cache, "initramfs-*", made)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = Path(scratch) / "root"
        for folder in ("bin", "dev", "modules", "new", "proc", "sys"):
            (root / folder).mkdir(parents=True)
        shutil.copy(busybox, root / "bin" / "busybox")
        shutil.copy(init, root / "init")
        os.chmod(root / "init", 0o755)
        for part in parts:
            shutil.copy(part, root / "modules")
        names = "\n".join(sorted(str(p.relative_to(root)) for p in root.rglob("*")))
        packed = Path(scratch) / "packed"
        run(program("cpio"), "-o", "-H", "newc", "--quiet", "-F", packed, input=names, cwd=root)
        os.rename(packed, made)
    return made


def libraries(programs):
    """Shared libraries the programs need, the dynamic linker among them."""
    found = set()
    for path in programs:
        linked = subprocess.run(["ldd", str(path)], capture_output=True, text=True)
        if linked.returncode == 0:  # else it is static
            found.update(re.findall(r"(/\S+) \(0x", linked.stdout))
    return sorted(found)


def disk(cache, programs):
    """An ext4 image: bin/ has the programs, stripped of what only a debugger reads.

    Stays mountable read-only at /image, with lib*/ as the machine has them.
    """
    programs = sorted(Path(path) for path in programs)
    needed = libraries(programs)
    key = digest(
        DISK_SIZE, *map(str, programs), *programs, *needed, *(Path(path) for path in needed)
    )
    made = cache / f"disk-{key}.ext4"
    if made.exists():
        return made
    keep_only(cache, "disk-*", made)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = Path(scratch) / "root"
        for folder in ("bin", "lib", "lib64", "usr"):
            (root / folder).mkdir(parents=True)
        (root / "usr" / "bin").symlink_to("../bin")
        (root / "usr" / "lib").symlink_to("../lib")
        for path in programs:
            run(program("strip"), "--strip-debug", "-o", root / "bin" / path.name, path)
        for path in needed:
            target = root / path.removeprefix("/usr").lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        image = Path(scratch) / "image"
        run(
            program("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
            "-d", root, image, DISK_SIZE,
        )  # fmt: skip
        os.rename(image, made)
    return made
