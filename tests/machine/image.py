# SPDX-License-Identifier: Apache-2.0
"""What a guest is made of: a Debian kernel, an initramfs and a disk with our programs.

Everything is kept in one cache folder under a name that says what went into it, so that a
second run makes nothing again and a changed program is never missed.
"""
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What a disk, an overlay and a network need; what a kernel has built in is not among its modules.
MODULES = (
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "drivers/block/virtio_blk",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
    "fs/overlayfs/overlay",
    "net/core/failover",
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
SUITE = "bookworm"
# Debian's suites that guests have kernels of, and how their versions begin.
KERNELS = {"bookworm": "6.1.", "trixie": "6.12.", "forky": "7."}
SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
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


ANY_DIGEST = "?" * 16


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


def mirror():
    """The URI of the machine's own apt; never written down."""
    for path in SOURCES:
        if path.exists():
            found = re.search(r"^(?:URIs:|deb(?: \[.*?\])?) *(\S+)", path.read_text(), re.MULTILINE)
            if found:
                return found.group(1)
    raise Missing("this machine's apt names no Debian mirror")


def apt_of(suite, scratch):
    """The environment in which apt knows this suite alone; nothing of the machine's is touched.

    A suite that is still being made may have a list that is older than it says it is valid; its
    signature is checked all the same.
    """
    top = Path(scratch) / "apt"
    for folder in ("etc/sources.list.d", "etc/apt.conf.d", "etc/preferences.d",
                   "state/lists/partial", "cache/archives/partial"):
        (top / folder).mkdir(parents=True)
    (top / "status").write_text("")
    (top / "etc/sources.list").write_text(f"deb [signed-by={KEYS}] {mirror()} {suite} main\n")
    settings = {
        "Dir::Etc": top / "etc", "Dir::State": top / "state", "Dir::State::status": top / "status",
        "Dir::Cache": top / "cache", "APT::Sandbox::User": "root", "Acquire::Languages": "none",
        "Acquire::Check-Valid-Until": "false",
    }  # fmt: skip
    (top / "apt.conf").write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()))
    return {**os.environ, "APT_CONFIG": str(top / "apt.conf")}


def kernel_packages(environment):
    """Names of those that have the kernel and its modules: one, or in newer suites two."""
    def dependencies(package):
        said = run("apt-cache", "depends", "--important", package, env=environment)
        return re.findall(r"Depends: (linux-\S+-cloud-amd64)", said)

    (name,) = [found for found in dependencies(KERNEL_PACKAGE) if found.startswith("linux-image-")]
    parts = [found for found in dependencies(name)
             if re.match(r"linux-(binary|modules)-\d", found)]
    return parts or [name]


def kernel(cache, suite=SUITE):
    """The folder with the extracted kernel packages, downloaded once with the machine's apt."""
    folder = cache / ("kernel" if suite == SUITE else f"kernel-{suite}")
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        try:
            environment = os.environ if suite == SUITE else apt_of(suite, scratch)
            if suite != SUITE:
                run("apt-get", "-qq", "update", env=environment)
            names = kernel_packages(environment)
        except (OSError, RuntimeError, ValueError) as error:
            raise Missing(
                f"package {KERNEL_PACKAGE} of {suite} is not known here (apt-get update?): {error}"
            ) from error
        try:
            run("apt-get", "-q", "download", *names, cwd=scratch, env=environment)
        except (OSError, RuntimeError) as error:
            raise Missing(f"package {names[0]} cannot be downloaded: {error}") from error
        for package in Path(scratch).glob("*.deb"):
            run(program("dpkg"), "-x", package, f"{scratch}/root")
        os.rename(f"{scratch}/root", folder)
    return folder


def debian_program(cache, package, path):
    """A program of a package of this machine's Debian, which need not be installed."""
    folder = cache / f"package-{package}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            try:
                run("apt-get", "-q", "download", package, cwd=scratch)
            except (OSError, RuntimeError) as error:
                raise Missing(f"package {package} cannot be downloaded: {error}") from error
            for found in Path(scratch).glob("*.deb"):
                run(program("dpkg"), "-x", found, f"{scratch}/root")
            os.rename(f"{scratch}/root", folder)
    return folder / path


def vmlinuz(folder):
    (path,) = [*folder.glob("boot/vmlinuz-*"), *folder.glob("usr/lib/modules/*/vmlinuz")]
    return path


def modules(kernel_folder):
    """Those of MODULES that are not built in; newer suites pack them."""
    (top,) = [*kernel_folder.glob("lib/modules/*"), *kernel_folder.glob("usr/lib/modules/*")]
    found = [top / "kernel" / f"{module}{ending}" for module in MODULES for ending in (".ko", ".ko.xz")]
    return [path for path in found if path.exists()]


def initramfs(cache, kernel_folder, init):
    parts = modules(kernel_folder)
    busybox = Path(program("busybox"))
    made = cache / f"initramfs-{kernel_folder.name}-{digest(init, busybox, *parts)}.cpio"
    if made.exists():
        return made
    keep_only(cache, f"initramfs-{kernel_folder.name}-{ANY_DIGEST}.cpio", made)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = Path(scratch) / "root"
        for folder in ("bin", "dev", "modules", "new", "proc", "sys"):
            (root / folder).mkdir(parents=True)
        shutil.copy(busybox, root / "bin" / "busybox")
        shutil.copy(init, root / "init")
        os.chmod(root / "init", 0o755)
        for part in parts:
            data = part.read_bytes()
            data = lzma.decompress(data) if part.suffix == ".xz" else data
            (root / "modules" / part.name.removesuffix(".xz")).write_bytes(data)
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
