# SPDX-License-Identifier: Apache-2.0
"""Scenarios 1 to 3 of KEP-6122 with real processes in real cgroups.

A shell loop in the guest reads what containers are told and what the kernel lets them have, and
the guest's own clock: order and floors, never how late something is.
"""
from guest import M12
from guest_node import GuestNode, Pods, cpus
from told import delayed, is_resizing, tell

LONG = 10  # seconds; something else is asked for within it, on whatever machine this runs
SHORT = 2
TICK = 0.02  # the clock that the loop reads has hundredths


class Look:
    """What each of some pods was told and had, in the order of `names`."""

    def __init__(self, node, *names):
        self.node, self.names = node, names
        pods = node.pods()
        reads = ""
        for name in names:
            uid = pods[name]["metadata"]["uid"]
            reads += f"T=; read T < {node.root}/podinfo/{uid}/told/c0\n"
            reads += f"read H < /sys/fs/cgroup/corehold/pods/{uid}/c0/cpuset.cpus.effective\n"
            reads += 'L="$L $T $H"\n'
        loop = f"while :; do\nread L R < /proc/uptime\n{reads}echo $L\nusleep 20000\ndone"
        node.guest.write("/tmp/look", loop)
        self.pid = int(node.guest.sh("sh /tmp/look > /tmp/seen 2>&1 & echo $!"))
        self.seen = []  # (when, {name: (told, had)})

    def end(self):
        lines = self.node.guest.sh(f"kill {self.pid}; cat /tmp/seen").splitlines()
        for line in lines[:-1]:  # the last may be cut off
            when, *words = line.split()
            assert len(words) == 2 * len(self.names), f"a file was empty or missing: {line}"
            self.seen.append((float(when), dict(zip(self.names, zip(words[::2], words[1::2])))))

    def turns(self, name):
        """(told, had), each time that one of them changed."""
        found = []
        for _, sight in self.seen:
            if not found or found[-1] != sight[name]:
                found.append(sight[name])
        return found

    def check_shrink(self, name, count, delay):
        """Told, then for the delay nothing, then taken; never anything else."""
        before, *_ = turns = self.turns(name)
        after = turns[-1]
        assert turns == [before, (after[0], before[1]), after], turns
        assert before[0] == before[1] and after[0] == after[1], turns
        assert len(cpus(after[1])) == count and cpus(after[1]) < cpus(before[1]), turns
        told = max(when for when, sight in self.seen if sight[name][0] == before[0])
        taken = min(when for when, sight in self.seen if sight[name][1] == after[1])
        print(f"  {name}: {turns}, taken {taken - told:.2f} s after it was told", flush=True)
        assert taken - told >= delay - TICK, (told, taken)


def settled(node):
    node.eventually(lambda: not any(map(is_resizing, node.pods().values())), "all resizes are over")


def grown(node, made, name, count, delay):
    """A pod with two CPUs of its own that has grown."""
    pod = tell(made.pod(name, 2))
    pod["metadata"]["annotations"] = {"corehold.dev/scale-delay": f"{delay}s"}
    node.apply([pod])
    node.settled()
    if count > 2:
        node.corehold(f"resize pod {name} --cpu {count} --wait")


def validate_scale_down_delay(node, made):
    grown(node, made, "db", 6, SHORT)
    look = Look(node, "db")
    node.corehold("resize pod db --cpu 4 --wait")
    look.end()
    look.check_shrink("db", 4, SHORT)
    node.delete_all()


def resource_allocation_blocking(node, made):
    """Eleven CPUs: what two is to have is what one has."""
    grown(node, made, "one", 8, LONG)
    grown(node, made, "two", 2, LONG)
    # Whoever gains is looked at first: seen in both hands it was in both.
    look = Look(node, "two", "one")
    node.corehold("resize pod one --cpu 2")
    node.corehold("resize pod two --cpu 8")
    conditions = {c["type"]: c.get("reason") for c in node.pods()["two"]["status"]["conditions"]}
    assert conditions.get("PodResizePending") == "Deferred", conditions
    settled(node)
    look.end()
    look.check_shrink("one", 2, LONG)
    first, last = look.turns("two")[0], look.turns("two")[-1]
    assert len(cpus(last[1])) == 8 and cpus(first[1]) < cpus(last[1]), look.turns("two")
    both = [s for _, s in look.seen if cpus(s["two"][1]) & cpus(s["one"][1])]
    assert not both, both
    node.delete_all()


def validate_scale_up_before_timer_expiry(node, made):
    grown(node, made, "db", 4, LONG)
    look = Look(node, "db")
    node.corehold("resize pod db --cpu 2")
    node.corehold("resize pod db --cpu 6 --wait")
    look.end()
    turns = look.turns("db")
    print(f"  db: {turns}", flush=True)
    assert len(cpus(turns[1][0])) == 2 and turns[1][1] == turns[0][1], "the shrink was told, and pending"
    assert len(cpus(turns[-1][1])) == 6 and turns[-1][0] == turns[-1][1], turns
    assert all(cpus(turns[0][1]) <= cpus(had) for _, had in turns), "nothing was taken"
    node.delete_all()


def delay_12(guest):
    made = Pods()
    with GuestNode(guest, delayed(f"{SHORT}s", "0")) as node:
        for scenario in (
            validate_scale_down_delay,
            resource_allocation_blocking,
            validate_scale_up_before_timer_expiry,
        ):
            print(scenario.__name__, flush=True)
            scenario(node, made)


TESTS = {"delay_12": (M12, delay_12)}
