# SPDX-License-Identifier: Apache-2.0
"""A guest of 16 CPUs with systemd and D-Bus, with our programs on its disk as in guests without.

Its Debian is made as tests/package does and kept there; what it needs beside is in DEPENDENCIES.
"""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "package"))

import debian_guest  # noqa: E402
import debian_root  # noqa: E402
import guest  # noqa: E402
import image  # noqa: E402

DEPENDENCIES = "procps, util-linux"
MACHINE = guest.Shape("systemd", 16, guest.M16.smp, guest.M16.nodes, 1024)
# Applets of busybox that the tests use and Debian does not have.
APPLETS = ("nc", "usleep")
LIBRARIES = "/image/lib/x86_64-linux-gnu"


class SystemdGuest(debian_guest.DebianGuest):
    """The agent is started from its shell, which is a service."""

    all_processes = "ps -eo"
    cgroups_left = "-path '*corehold*'"

    def __init__(self, cache, programs, suite=image.SUITE):
        cache = Path(cache).resolve()
        busybox = image.program("busybox")
        super().__init__(
            cache.parent / "package", cache, DEPENDENCIES, [*programs, busybox], MACHINE, suite
        )

    def make_disks(self):
        return [
            debian_root.disk(self.cache, DEPENDENCIES, "systemd"),
            image.disk(self.cache, self.programs),
        ]

    def __enter__(self):
        super().__enter__()
        self.sh(f"export PATH=/usr/local/bin:/image/bin:$PATH LD_LIBRARY_PATH={LIBRARIES}")
        for applet in APPLETS:
            self.sh(f"ln -sf /image/bin/busybox /usr/local/bin/{applet}")
        return self
