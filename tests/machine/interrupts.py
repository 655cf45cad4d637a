# SPDX-License-Identifier: Apache-2.0
"""At level irqs no interrupt that can be moved comes to a CPU that a container holds.

With traffic on the network card and on an NVMe disk; the interrupts are put on the CPUs first that
the container gets. Those that the kernel manages itself are named, once each.
"""
import re

from fence import isolation
from guest import M16
from guest_node import GuestNode, Pods, config, cpus, runs
from image import KERNELS

SECONDS = 10
TRAFFIC = (
    "while true; do ping -c 1 -w 5 10.0.2.2; dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=16"
    " oflag=direct; done > /dev/null 2>&1"
)
MOVABLE = ("virtio0-input.0", "virtio0-output.0", "nvme0q0")  # others may be, too
MANAGED = [f"nvme0q{queue}" for queue in range(1, 9)] + [f"virtio2-req.{queue}" for queue in range(8)]


def counts(guest):
    """{name: (number, [count of each CPU])} of interrupts that have a number."""
    lines = guest.sh("cat /proc/interrupts").splitlines()
    columns = len(lines[0].split())
    found = {}
    for line in lines[1:]:
        number, _, rest = line.partition(":")
        words = rest.split()
        if number.strip().isdigit():
            found[words[-1]] = (int(number), [int(word) for word in words[:columns]])
    return found


def came(before, after, on):
    """How many of each came to these CPUs in between."""
    return {name: sum(after[name][1][cpu] - numbers[cpu] for cpu in on)
            for name, (_, numbers) in before.items() if name in after}


def interrupts(guest):
    guest.sh("ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && ping -c 1 -w 60 10.0.2.2")
    with GuestNode(guest, config("0", own=isolation("irqs"))) as node:
        said = node.corehold_run("--cpus 4", "grep Cpus_allowed_list /proc/self/status")
        held = cpus(re.search(r"Cpus_allowed_list:\s*(\S+)", said).group(1))
        rest = set(range(M16.cpus)) - held
        guest.sh(f"until grep -q '\"held\":\"\"' {node.root}/isolation.json; do usleep 50000; done")
        files = {name: f"/proc/irq/{counts(guest)[name][0]}/smp_affinity_list" for name in MOVABLE}
        for name, file in files.items():
            guest.sh(f"echo {min(held)} > {file}")
        traffic = int(guest.sh(f"({TRAFFIC}) & echo $!"))
        try:
            begin = counts(guest)
            guest.sh(f"sleep {SECONDS}")
            found = came(begin, counts(guest), held)
            assert found["virtio0-input.0"] > 0, found
            print(f"  on CPUs {sorted(held)} before the grant: {({n: c for n, c in found.items() if c})}")
            node.apply([Pods().pod("quiet", 4)])
            node.eventually(lambda: runs(node.pods()["quiet"]), "it runs")
            guest.sh("sleep 1")  # a new affinity holds from the next interrupt on: one more may come
            begin = counts(guest)
            guest.sh(f"sleep {SECONDS}")
            end = counts(guest)
            here, there = came(begin, end, held), came(begin, end, rest)
            print(f"  after it: {({n: c for n, c in here.items() if c})}, elsewhere"
                  f" {({n: c for n, c in there.items() if c})}")
            assert there["virtio0-input.0"] > 0, there
            moved = {name: count for name, count in here.items() if name not in MANAGED}
            assert not any(moved.values()), moved
            left = node.json("isolation show")["leftovers"]
            for name in MANAGED:
                named = [each["what"] for each in left if f"({name}," in each["what"]]
                assert len(named) <= 1, left
            assert any("managed" in each["what"] for each in left), left
            print(f"  named: {[each['what'] for each in left]}")
            node.delete("quiet")
            for name, file in files.items():
                node.eventually(lambda: guest.sh(f"cat {file}").strip() == str(min(held)), f"{name} is back")
        finally:
            guest.sh(f"kill {traffic}", check=False)


TESTS = {f"interrupts_{suite}": (M16, interrupts, {"suite": suite, "devices": True})
         for suite in KERNELS}
