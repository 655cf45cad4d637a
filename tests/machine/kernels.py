# SPDX-License-Identifier: Apache-2.0
"""Guests have the kernels and the devices that they should have, and corehold sees the machine there."""
import re

import boot
import image
from guest import M16

INTERRUPT = re.compile(r"^ *(\d+):.* (\S+)$", re.MULTILINE)


def kernel(suite):
    def test(guest):
        version = guest.sh("uname -r").strip()
        print(version)
        assert version.startswith(image.KERNELS[suite]), version
        boot.boot_16(guest)
        guest.sh("cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir a"
                 " && echo 3-4 > a/cpuset.cpus && grep -qx 3-4 a/cpuset.cpus.effective && rmdir a")

    return test


def devices(suite):
    """Interrupts that can be moved, and such that the kernel manages."""
    def test(guest):
        version = guest.sh("uname -r").strip()
        assert version.startswith(image.KERNELS[suite]), version
        guest.sh("ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && ping -c 1 -w 60 10.0.2.2")
        guest.sh("dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=64 oflag=direct"
                 " && dd if=/dev/zero of=/dev/vdb bs=4k count=64 oflag=direct")
        movable, managed = set(), set()
        for number, name in INTERRUPT.findall(guest.sh("grep -e nvme -e virtio /proc/interrupts")):
            file = f"/proc/irq/{number}/smp_affinity_list"
            guest.sh(f"cat {file} > /tmp/list; cat /tmp/list > {file}", check=False)
            (movable if guest.code == 0 else managed).add(name)
        print(f"{version}: movable {sorted(movable)}; managed {sorted(managed)}")
        # nvme0q0 is the administrative queue, virtio0 the network card.
        assert {"nvme0q0", "virtio0-input.0", "virtio0-output.0"} <= movable, movable
        assert {f"nvme0q{queue}" for queue in range(1, 9)} <= managed, managed
        assert {f"virtio2-req.{queue}" for queue in range(8)} <= managed, managed

    return test


TESTS = {
    **{f"kernel_{suite}": (M16, kernel(suite), {"suite": suite}) for suite in image.KERNELS},
    **{f"devices_{suite}": (M16, devices(suite), {"suite": suite, "devices": True})
       for suite in image.KERNELS},
}
