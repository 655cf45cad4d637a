# SPDX-License-Identifier: Apache-2.0
"""Isolated partitions: made, grown, shrunk, ended, and invalidated by somebody else's write.

What the kernel says counts: cpuset.cpus.partition of the container, cpuset.cpus.isolated of the
root, the CPUs of unbound work, and where processes of others may run. The agent reconciles once an
hour here: what it notices in between, the kernel has told it. `partition_full_*` is at level full.
"""
import json

import image
from fence import isolation
from guest import M16
from guest_node import GuestNode, Pods, config, cpus
from others import TOP, Others
from resize import resize, where

GATES = {"InPlacePodVerticalScalingExclusiveCPUs": True}
EVERYTHING = set(range(M16.cpus))
WORKQUEUES = "/sys/devices/virtual/workqueue"
# Linux 7.0 is the first on which a partition stays valid when a sibling is given a CPU of it.
FIRST_THAT_STAYS = 7
# Ends the partition behind the agent's back, and waits until it is one again.
BREAK = """\
read BEGAN _ < /proc/uptime
echo member > {file}
until [ "$(cat {file})" = isolated ]; do usleep 10000; done
read ENDED _ < /proc/uptime
echo $BEGAN $ENDED"""


def settings(level, reconcile):
    return config("0-1", featureGates=GATES, own=isolation(level), cpuManagerReconcilePeriod=reconcile)


def quiet_pod(made, name, count):
    pod = made.pod(name, count)
    pod["metadata"]["annotations"] = {"corehold.dev/quiet": "partition"}
    return pod


def read(guest, path):
    return guest.sh(f"cat {path}", check=False).strip()


def exclusive_above(guest, cgroup):
    """cpuset.cpus.exclusive of the cgroups above this one."""
    found = {}
    while (cgroup := cgroup.rpartition("/")[0]) != TOP:
        found[cgroup] = cpus(read(guest, f"{cgroup}/cpuset.cpus.exclusive"))
    return found


def workqueues(guest):
    """The CPUs that unbound work of the kernel may use, and what was set for writeback."""
    mask = int(read(guest, f"{WORKQUEUES}/cpumask").replace(",", ""), 16)
    return {cpu for cpu in EVERYTHING if mask >> cpu & 1}, read(guest, f"{WORKQUEUES}/writeback/cpumask")


def is_exclusive(node):
    return node.condition("CpusExclusive")["status"] == "True"


class Partition:
    """Of the only container of a pod."""

    def __init__(self, node, made, others, pod):
        self.node = node
        self.guest = node.guest
        self.made = made
        self.others = others
        self.pod = pod
        self.cgroup = node.cgroup(pod)
        self.file = f"{self.cgroup}/cpuset.cpus.partition"

    def is_valid(self):
        return read(self.guest, self.file) == "isolated"

    def expect(self, wanted):
        assert self.is_valid(), read(self.guest, self.file)
        assert where(self.node, self.made)[f"{self.pod}/c0"] == wanted
        assert cpus(read(self.guest, f"{TOP}/cpuset.cpus.isolated")) == wanted
        for level, exclusive in exclusive_above(self.guest, self.cgroup).items():
            assert exclusive == wanted, (level, exclusive)
        # From 6.8 on by the kernel itself, whatever the level.
        assert workqueues(self.guest)[0] == EVERYTHING - wanted, workqueues(self.guest)
        for name, allowed in self.others.allowed().items():
            assert not cpus(allowed) & wanted, (name, allowed)
        self.node.eventually(self.is_rest_of_others(wanted), "others have all other CPUs")
        assert is_exclusive(self.node), self.node.condition("CpusExclusive")

    def is_rest_of_others(self, wanted):
        return lambda: all(cpus(allowed) == EVERYTHING - wanted
                           for allowed in self.others.allowed().values())

    def lost(self, text=""):
        """How often the agent has told of a loss."""
        return self.node.told("PartitionLost", text)

    def check_repaired(self):
        """Made a plain cgroup by somebody: noticed without a reconcile, told and repaired."""
        began, ended = map(float, self.guest.sh(BREAK.format(file=self.file)).split())
        self.node.eventually(lambda: self.lost('"member"'), "its loss is told")
        print(f"  made a plain cgroup: repaired {ended - began:.2f} s later by the guest's clock", flush=True)

    def check_sibling(self, major):
        """A cgroup beside it, with the same parent, is given a CPU of it."""
        other = f"{self.cgroup.rpartition('/')[0]}/other"
        before = self.lost()
        self.guest.sh(f"mkdir {other} && echo 3 > {other}/cpuset.cpus")
        if major < FIRST_THAT_STAYS:
            self.node.eventually(lambda: self.lost("isolated invalid"), "its loss is told")
            self.node.eventually(lambda: self.is_valid() or self.node.told("FailedPartition"),
                                 "it is repaired, or told to be a plain cpuset")
            became = "repaired" if self.is_valid() else "refused by the kernel, which is told too"
            print(f"  invalidated by a sibling: told; {became}", flush=True)
        else:
            ended = self.guest.sh(
                f"for N in $(seq 50); do grep -vx isolated {self.file}; usleep 100000; done", check=False
            )
            assert ended == "", ended
            assert self.lost() == before, self.node.events()
            print("  a sibling's write does not invalidate it, and nothing is told", flush=True)
        # A container keeps its CPUs in any case.
        assert where(self.node, self.made)[f"{self.pod}/c0"] == cpus("2-3")
        self.guest.sh(f"[ ! -d {other} ] || rmdir {other}")

    def check_stranger(self):
        """A cgroup elsewhere that wants a CPU of it for itself: it stays, or its loss is told."""
        before = self.lost()
        was_valid = self.is_valid()
        self.guest.sh(
            f"mkdir {TOP}/other; echo 3 > {TOP}/other/cpuset.cpus.exclusive;"
            f" echo 3 > {TOP}/other/cpuset.cpus; echo root > {TOP}/other/cpuset.cpus.partition",
            check=False,
        )
        said = read(self.guest, f"{TOP}/other/cpuset.cpus.partition")
        if was_valid and not self.is_valid():
            self.node.eventually(lambda: self.lost() > before, "its loss is told")
        print(f"  a cgroup elsewhere is {said!r}; told {self.lost() - before} times", flush=True)
        self.guest.sh(f"echo member > {TOP}/other/cpuset.cpus.partition; rmdir {TOP}/other")


def partition(guest, level="fence"):
    made = Pods()
    kernel = guest.sh("uname -r").strip()
    has_partitions = guest.sh(f"[ -e {TOP}/cpuset.cpus.isolated ]; echo $?").strip() == "0"
    unbound = workqueues(guest)
    with GuestNode(guest, settings(level, "1h")) as node, Others(guest) as others:
        if not has_partitions:
            guest.write("/tmp/pods.json", json.dumps(quiet_pod(made, "dpdk", 2)))
            said = node.corehold("apply -f /tmp/pods.json", check=False)
            assert node.guest.code == 1 and "Linux 6.8" in said, said
            print(f"  {kernel}: refused: {said.strip()}", flush=True)
            return
        # For fewer seconds than containers, which are known by theirs.
        others.start("sleeper", "system/app", "sleep 90000")
        others.start("shell", "", "sleep 90000")
        node.apply([made.pod("web", None), quiet_pod(made, "dpdk", 2)])
        node.settled(2)
        made_one = Partition(node, made, others, "dpdk")
        made_one.expect(cpus("2-3"))
        resize(node, "dpdk", ("c0", 6))
        made_one.expect(cpus("2-7"))
        resize(node, "dpdk", ("c0", 2))
        made_one.expect(cpus("2-3"))
        print(f"  {kernel}, level {level}: made, grown and shrunk", flush=True)
        made_one.check_repaired()
        made_one.expect(cpus("2-3"))
        made_one.check_sibling(int(kernel.partition(".")[0]))
        made_one.check_stranger()
        # One that the kernel has refused is tried again by the next agent.
        guest.write(node.config, settings(level, "1s"))
        node.end("KILL")
        node.start()
        node.eventually(made_one.is_valid, "it is one again")
        node.eventually(lambda: is_exclusive(node), "nobody is in the way")
        made_one.expect(cpus("2-3"))
        above = exclusive_above(guest, made_one.cgroup)
        node.delete("dpdk")
        node.eventually(lambda: "dpdk" not in node.pods(), "the pod is gone")
        assert read(guest, f"{TOP}/cpuset.cpus.isolated") == ""
        for place in above:
            left = f"[ ! -d {place} ] || cat {place}/cpuset.cpus.exclusive"
            node.eventually(lambda asked=left: guest.sh(asked).strip() in ("", "none"),
                            f"{place} has no exclusive CPUs")
        node.eventually(lambda: workqueues(guest) == unbound, "unbound work has all CPUs again")
        node.eventually(lambda: set(map(str, others.allowed().values())) == {"0-15"}, "so have others")
        print(f"  {kernel}: ended", flush=True)


TESTS = {
    **{f"partition_{suite}": (M16, partition, {"suite": suite}) for suite in image.KERNELS},
    **{f"partition_full_{suite}": (M16, lambda guest: partition(guest, "full"), {"suite": suite})
       for suite in image.KERNELS},
}
