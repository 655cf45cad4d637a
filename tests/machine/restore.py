# SPDX-License-Identifier: Apache-2.0
"""What isolation has changed is given back byte for byte after an agent that ended at any moment.

Pods come and go at level full, the agent is killed at a random moment, and `corehold isolation
release` gives back what was there: files of cgroups, interrupts, workqueues and of the kernel,
AllowedCPUs of units, and affinities of tasks. By hand, with more of them:

    COREHOLD_KILLS=100 ctest --test-dir build/debug -R machine_fence_restore --verbose
"""
import os
import random

from fence import isolation
from guest import M16
from guest_node import GuestNode, Pods, config, manifest, runs
from image import KERNELS
from others import TOP, Others, OthersOfSystemd

KILLS = int(os.environ.get("COREHOLD_KILLS", "6"))
SEED = int(os.environ.get("COREHOLD_SEED", "17"))
FILES = (
    f"$(find {TOP} -name cpuset.cpus -not -path '*corehold*') /proc/irq/*/smp_affinity_list"
    " /proc/irq/default_smp_affinity /proc/sys/kernel/watchdog_cpumask"
    " /proc/sys/kernel/timer_migration /sys/devices/virtual/workqueue/cpumask"
    " /sys/devices/virtual/workqueue/*/cpumask"
    " /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"
)
LIMITED = "0-11"  # what one group has of its own
LATER = "0-5"  # what somebody gives it while it is fenced


def values(said):
    return dict(line.split(":", 1) for line in said.splitlines() if ":" in line)


class Machine:
    """What can be changed of it."""

    def __init__(self, guest, others):
        self.guest = guest
        self.others = others
        self.online = guest.sh("cat /sys/devices/system/cpu/online").strip()
        self.limit(LIMITED)
        self.before = self.look()

    @property
    def has_units(self):
        return isinstance(self.others, OthersOfSystemd)

    def limit(self, cpus):
        if self.has_units:
            self.guest.sh(f"systemctl set-property --runtime user.slice AllowedCPUs={cpus}")
        else:
            self.guest.sh(f"echo {cpus} > {TOP}/user/cpuset.cpus")

    def limited(self):
        if self.has_units:
            return self.guest.sh("systemctl show -P AllowedCPUs user.slice").strip()
        return self.guest.sh(f"cat {TOP}/user/cpuset.cpus").strip()

    def look(self):
        found = values(self.guest.sh(f"for F in {FILES}; do echo $F:$(cat $F 2>&1); done"))
        found |= {f"task {name}": cpus for name, cpus in self.others.allowed().items()}
        if self.has_units:
            said = self.guest.sh(
                "systemctl show -p Id -p AllowedCPUs '*.slice' '*.scope' '*.service'"
            )
            for unit in said.split("\n\n"):
                fields = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
                found[f"unit {fields.get('Id')}"] = fields.get("AllowedCPUs")
        return found

    def check(self):
        """It is as it was, but for cpusets that kernel 6.1 does not let be emptied again: those have
        all CPUs, which is as good. Controllers that were handed down since bring files of their own."""
        now = self.look()
        full = 0
        for name, value in now.items():
            is_cpuset = name.endswith("/cpuset.cpus")
            if is_cpuset and self.before.get(name, "") == "" and value == self.online:
                full += 1
            elif is_cpuset and name not in self.before:
                own = LIMITED if name.endswith("/user.slice/cpuset.cpus") else ""
                assert value == own, (name, value)
            elif name in self.before:
                assert value == self.before[name], (name, self.before[name], value)
        missing = [name for name in self.before if name not in now and not name.startswith("unit ")]
        assert not missing, missing
        return len(now), full


def restore(guest, others_of=Others):
    chance = random.Random(SEED)
    made = Pods()
    with GuestNode(guest, config("0", own=isolation("full"))) as node, others_of(guest) as others:
        others.start("sleeper", "system/app", "sleep 100000")
        others.start("two", "system/app", "taskset c sleep 100000")
        others.start("root", "", "taskset 300 sleep 100000")
        node.stop()
        machine = Machine(guest, others)
        node.start()
        for number in range(KILLS):
            # Every second time a grant that is there is given back.
            if number % 2 == 0:
                guest.write("/tmp/pods.json", manifest([made.pod(f"held-{number}", 2 + number % 3)]))
                words = "apply -f /tmp/pods.json"
            else:
                words = f"delete pod held-{number - 1}"
            delay = chance.randrange(500_000, 6_000_000)
            guest.sh(
                f"corehold {words} --root {node.root} > /tmp/words.log 2>&1 & usleep {delay};"
                f" kill -KILL {node.pid}; wait $! 2> /dev/null; while [ -d /proc/{node.pid} ]; do"
                " usleep 20000; done", check=False,
            )  # fmt: skip
            said = node.corehold("isolation release").strip()
            count, full = machine.check()
            print(f"  killed {delay / 1e6:.2f} s into {words!r}: {said}; {count} values as before,"
                  f" {full} cpusets with all CPUs instead of none of their own", flush=True)
            node.start()
        node.apply([made.pod("last", 2)])
        node.eventually(lambda: runs(node.pods()["last"]), "it runs")
        check_later_value(node, machine)
        check_other_boot(node, machine)
        node.start()


def check_later_value(node, machine):
    """What somebody has set since is left alone."""
    assert machine.limited() != LIMITED, machine.limited()
    node.end("KILL")
    machine.limit(LATER)
    node.guest.sh(f"cp {node.root}/isolation.json /tmp/journal")
    print(node.corehold("isolation release").strip())
    assert machine.limited() == LATER, machine.limited()
    machine.limit(LIMITED)
    machine.check()


def check_other_boot(node, machine):
    """A journal of another boot says nothing of this one."""
    node.guest.sh(
        "BOOT=$(cat /proc/sys/kernel/random/boot_id); grep -q $BOOT /tmp/journal"
        f" && sed s/$BOOT/11111111-2222-3333-4444-555555555555/ /tmp/journal > {node.root}/isolation.json"
    )
    said = node.corehold("isolation show")
    assert "nothing of the machine is changed" in said, said
    node.corehold("isolation release")
    machine.check()


TESTS = {
    **{f"fence_restore_{suite}": (M16, restore, {"suite": suite}) for suite in KERNELS},
    **{f"fence_systemd_restore_{suite}": (
        M16, lambda guest: restore(guest, OthersOfSystemd), {"suite": suite, "systemd": True})
       for suite in KERNELS},
}
