# SPDX-License-Identifier: Apache-2.0
"""A fresh Debian 12 as a disk: debootstrap, and what the package under test depends on.

The mirror is the one that this machine's own apt uses. Both steps are kept in the cache: the
first for good, the second for as long as the dependencies stay the same. What has to be done
once in a guest to make it serve a shell on its serial line is in SERVE.
"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import image

SUITE = image.SUITE
INCLUDED = ("systemd", "systemd-sysv", "dbus")
SIZE = "900M"  # sparse
# What a guest of a few seconds does not need, and what would talk on its serial line.
MASKED = (
    "apt-daily-upgrade.timer", "apt-daily.timer", "console-getty.service", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@.service",
    "serial-getty@.service", "systemd-ask-password-console.path", "systemd-ask-password-wall.path",
    "systemd-networkd.service", "systemd-pstore.service", "systemd-random-seed.service",
    "systemd-timesyncd.service", "systemd-update-utmp-runlevel.service",
    "systemd-update-utmp.service", "systemd-logind.service", "systemd-udev-settle.service",
    "systemd-hwdb-update.service", "modprobe@.service",
)  # fmt: skip
SERVE_UNIT = """\
[Unit]
Description=Shell on the serial line
After=multi-user.target

[Service]
Type=idle
ExecStart=/bin/sh /usr/local/lib/serve
StandardInput=null
StandardOutput=null

[Install]
WantedBy=graphical.target
"""
# As tests/machine/init: raw, without echo or prompt; to the shell the line is a script.
SERVE = """\
stty -F /dev/ttyS0 raw -echo
dmesg -n 1
systemctl is-system-running --wait
exec > /dev/ttyS0 2>&1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
echo "guest is up"
while true; do sh /dev/ttyS0; done
"""


def need(program, package):
    if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
        raise image.Missing(f"package {package} is not installed (no {program})")


def base(cache):
    """A folder with the bare system."""
    made = cache / f"base-{image.digest(SUITE, *INCLUDED)}"
    if made.is_dir():
        return made
    if os.geteuid() != 0:
        raise image.Missing("a Debian root is made by root only")
    need("debootstrap", "debootstrap")
    partial = Path(tempfile.mkdtemp(dir=cache, prefix="partial-"))
    try:
        try:
            image.run(
                "debootstrap", "--variant=minbase", f"--include={','.join(INCLUDED)}", SUITE,
                partial / "root", image.mirror(),
            )  # fmt: skip
        except RuntimeError as error:
            raise image.Missing(f"debootstrap cannot make a Debian root: {error}") from error
        os.rename(partial / "root", made)
    finally:
        shutil.rmtree(partial)
    return made


def names(dependencies):
    """Of a Depends field: the first of alternatives, without versions."""
    return [re.split(r"[ (|:]", entry.strip())[0] for entry in dependencies.split(",")]


def chroot(root, *command):
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "DEBIAN_FRONTEND": "noninteractive",
        "LC_ALL": "C.UTF-8",
    }
    return image.run("chroot", root, *command, env=environment)


def prepare(root, dependencies):
    (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    try:
        chroot(root, "apt-get", "-q", "update")
        chroot(root, "apt-get", "-qy", "--no-install-recommends", "install", *names(dependencies))
    except RuntimeError as error:
        raise image.Missing(f"the dependencies cannot be had: {error}") from error
    (root / "usr/sbin/policy-rc.d").unlink()
    for leftover in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"):
        shutil.rmtree(root / leftover)
        (root / leftover).mkdir()
    (root / "etc/hostname").write_text("debian\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost debian\n")
    (root / "etc/fstab").write_text("")
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    (root / "usr/local/lib/serve").write_text(SERVE)
    units = root / "etc/systemd/system"
    (units / "serve.service").write_text(SERVE_UNIT)
    (units / "graphical.target.wants").mkdir(exist_ok=True)
    (units / "graphical.target.wants/serve.service").symlink_to("../serve.service")
    for unit in MASKED:
        link = units / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")


def disk(cache, dependencies, name="debian"):
    """An ext4 image with the dependencies installed; one of a name is kept."""
    made = cache / f"{name}-{image.digest(base(cache).name, dependencies, Path(__file__))}.ext4"
    if made.exists():
        return made
    image.keep_only(cache, f"{name}-{image.ANY_DIGEST}.ext4", made)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = Path(scratch) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", base(cache), root], check=True)
        prepare(root, dependencies)
        packed = Path(scratch) / "image"
        image.run(
            image.program("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
            "-d", root, packed, SIZE,
        )  # fmt: skip
        os.rename(packed, made)
    return made
