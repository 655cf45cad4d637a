# SPDX-License-Identifier: Apache-2.0
"""At level irqs no interrupt that can be moved comes to a CPU that a container holds.

With traffic on the network card and on an NVMe disk; the interrupts are put on the CPUs first that
the container gets. Those that the kernel manages itself are named, once each. With irqbalance, which
would bring them back, beside the agent and started again.
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
SCAN = 2  # seconds between looks of irqbalance


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


class Traffic:
    """Packets and writes all the time, in the guest."""

    def __init__(self, guest):
        self.guest = guest

    def __enter__(self):
        self.guest.sh(
            "ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ping -c 1 -w 60 10.0.2.2"
        )
        self.pid = int(self.guest.sh(f"({TRAFFIC}) & echo $!"))
        return self

    def __exit__(self, *_):
        self.guest.sh(f"kill {self.pid}", check=False)


def first_held(node, count):
    """The CPUs that so many are granted first; nobody holds them any more."""
    said = node.corehold_run(f"--cpus {count}", "grep Cpus_allowed_list /proc/self/status")
    held = cpus(re.search(r"Cpus_allowed_list:\s*(\S+)", said).group(1))
    node.guest.sh(f"until grep -q '\"held\":\"\"' {node.root}/isolation.json; do usleep 50000; done")
    return held


def stays_away(guest, held):
    """Counts for a while: none that can be moved comes to held CPUs, and they do come elsewhere."""
    begin = counts(guest)
    guest.sh(f"sleep {SECONDS}")
    end = counts(guest)
    rest = set(range(M16.cpus)) - held
    here, there = came(begin, end, held), came(begin, end, rest)
    print(f"  held: {({n: c for n, c in here.items() if c})}, elsewhere"
          f" {({n: c for n, c in there.items() if c})}", flush=True)
    assert there["virtio0-input.0"] > 0, there
    moved = {name: count for name, count in here.items() if name not in MANAGED}
    assert not any(moved.values()), moved


def interrupts(guest):
    with GuestNode(guest, config("0", own=isolation("irqs"))) as node:
        held = first_held(node, 4)
        files = {name: f"/proc/irq/{counts(guest)[name][0]}/smp_affinity_list" for name in MOVABLE}
        for file in files.values():
            guest.sh(f"echo {min(held)} > {file}")
        with Traffic(guest):
            begin = counts(guest)
            guest.sh(f"sleep {SECONDS}")
            found = came(begin, counts(guest), held)
            assert found["virtio0-input.0"] > 0, found
            print(f"  on CPUs {sorted(held)} before the grant: {({n: c for n, c in found.items() if c})}")
            node.apply([Pods().pod("quiet", 4)])
            node.eventually(lambda: runs(node.pods()["quiet"]), "it runs")
            guest.sh("sleep 1")  # a new affinity holds from the next interrupt on: one more may come
            stays_away(guest, held)
            check_named(node)
            node.delete("quiet")
            for name, file in files.items():
                node.eventually(lambda: guest.sh(f"cat {file}").strip() == str(min(held)), f"{name} is back")


def check_named(node):
    """Managed interrupts are named once, and are nothing that the node could do better."""
    left = node.json("isolation show")["leftovers"]
    for name in MANAGED:
        assert len([each for each in left if f"({name}," in each["what"]]) <= 1, left
    managed = [each["what"] for each in left if "managed" in each["what"]]
    assert managed and not any(each["movable"] for each in left), left
    (machine,) = node.json("get nodes")["items"]
    (said,) = [each for each in machine["status"]["conditions"] if each["type"] == "CpusExclusive"]
    assert said["status"] == "True" and managed[0] in said["message"], said
    told = [event for event in node.events() if event["reason"] == "NotMovable"]
    assert sum(managed[0] in event["message"] for event in told) == 1, told
    print(f"  named: {managed}")


def start_irqbalance(guest):
    pid = int(guest.sh(
        f"mkdir -p /run/irqbalance; irqbalance --foreground --interval {SCAN} > /tmp/irqbalance.log 2>&1 & echo $!"
    ))
    guest.sh(f"until [ -e /run/irqbalance/irqbalance{pid}.sock ]; do usleep 50000; done")
    return pid


def is_told(node, pid):
    entries = node.json("isolation show")["changed"]
    return any(each["kind"] == "irqbalance" and str(pid) in each["name"] and each["stands"] == "told"
               for each in entries)


def with_irqbalance(guest):
    """irqbalance runs before the grant, goes on during it, and is started again."""
    with GuestNode(guest, config("0", own=isolation("irqs"))) as node:
        held = first_held(node, 4)
        with Traffic(guest):
            pid = start_irqbalance(guest)
            guest.sh(f"sleep {2 * SCAN}")
            node.apply([Pods().pod("quiet", 4)])
            node.eventually(lambda: runs(node.pods()["quiet"]), "it runs")
            node.eventually(lambda: is_told(node, pid), "irqbalance is told")
            guest.sh(f"sleep {2 * SCAN}")
            stays_away(guest, held)
            for signal in ("TERM", "KILL"):
                guest.sh(f"kill -{signal} {pid}; while [ -d /proc/{pid} ]; do usleep 50000; done")
                pid = start_irqbalance(guest)
                node.eventually(lambda: is_told(node, pid), "the new irqbalance is told")
                guest.sh(f"sleep {2 * SCAN}")
                print(f"  irqbalance ended by SIG{signal} and started again:", flush=True)
                stays_away(guest, held)
            node.delete("quiet")
            node.eventually(lambda: not is_told(node, pid), "irqbalance may use all CPUs again")
            guest.sh(f"kill {pid}")


IRQBALANCE = {"irqbalance": "usr/sbin/irqbalance"}
TESTS = {
    **{f"interrupts_{suite}": (M16, interrupts, {"suite": suite, "devices": True}) for suite in KERNELS},
    **{f"irqbalance_{suite}": (
        M16, with_irqbalance, {"suite": suite, "devices": True, "packages": IRQBALANCE})
       for suite in KERNELS},
}
