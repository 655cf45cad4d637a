# SPDX-License-Identifier: Apache-2.0
"""A guest that runs Debian 12 with systemd, on cgroup v2.

Booted and saved once, as the guests of tests/machine are; what it is told to install comes on a
second disk, which is mounted when the saved guest goes on.
"""
import os
import subprocess
import tempfile
from pathlib import Path

import debian_root
import guest
import image

HERE = Path(__file__).resolve().parent
PACKAGES_SIZE = "160M"  # the saved guest knows it
MACHINE = guest.Shape("debian", 4, "sockets=1,dies=1,cores=2,threads=2", ("0-3",), 1536)


class DebianGuest(guest.Guest):
    """`files` lie in /image in the guest."""

    init = HERE / "init"
    kernel_line = guest.KERNEL_LINE + " systemd.show_status=0 systemd.log_level=warning"
    patience = 300
    device = "/dev/vdb"

    def __init__(self, cache, kernel_cache, dependencies, files, shape=MACHINE, suite=image.SUITE):
        super().__init__(shape, cache, files, suite)
        self.kernel_cache = Path(kernel_cache)
        self.dependencies = dependencies

    def make_kernel(self):
        self.kernel_cache.mkdir(parents=True, exist_ok=True)
        return image.kernel(self.kernel_cache, self.suite)

    def make_disks(self):
        return [debian_root.disk(self.cache, self.dependencies), packages(self.cache, self.programs)]


def packages(cache, files):
    """An ext4 image with these files."""
    files = sorted(Path(path) for path in files)
    made = cache / f"packages-{image.digest(PACKAGES_SIZE, *(p.name for p in files), *files)}.ext4"
    if made.exists():
        return made
    image.keep_only(cache, "packages-*", made)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = Path(scratch) / "root"
        root.mkdir()
        for path in files:
            subprocess.run(["cp", path, root], check=True)
        packed = Path(scratch) / "image"
        image.run(
            image.program("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
            "-d", root, packed, PACKAGES_SIZE,
        )  # fmt: skip
        os.rename(packed, made)
    return made
