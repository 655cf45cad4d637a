# SPDX-License-Identifier: Apache-2.0
"""Scenarios 1 to 3 of KEP-6122 with real processes in real cgroups.

A shell loop in the guest reads what containers are told and what the kernel lets them have, and
the guest's own clock: order and floors, never how late something is. What must happen within a
delay happens while delays are held, and no delay ends before the loop has seen what was told.
"""
import contextlib

from guest import M12
from guest_node import GuestNode, Pods, cpus
from told import delayed, is_resizing, tell

DELAY = 2  # seconds; of the pods: that of the node is shorter
HOLD = "/tmp/hold-delays"
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

    def eventually(self, name, condition, what):
        """Waits until the loop has seen a pod so: condition(told, had)."""
        place = 1 + 2 * self.names.index(name)

        def is_so():
            # The last line may be cut off.
            words = self.node.guest.sh("tail -n 2 /tmp/seen | head -n 1").split()
            return len(words) == 1 + 2 * len(self.names) and condition(*words[place : place + 2])

        self.node.eventually(is_so, f"{name}: {what}")

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

    def check_shrink(self, name, count):
        """Told, then for the delay nothing, then taken; never anything else."""
        before, *_ = turns = self.turns(name)
        after = turns[-1]
        assert turns == [before, (after[0], before[1]), after], turns
        assert before[0] == before[1] and after[0] == after[1], turns
        assert len(cpus(after[1])) == count and cpus(after[1]) < cpus(before[1]), turns
        told = max(when for when, sight in self.seen if sight[name][0] == before[0])
        taken = min(when for when, sight in self.seen if sight[name][1] == after[1])
        print(f"  {name}: {turns}, taken {taken - told:.2f} s after it was told", flush=True)
        assert taken - told >= DELAY - TICK, (told, taken)


@contextlib.contextmanager
def held_delays(node):
    """Within this no delay ends."""
    node.guest.sh(f"touch {HOLD}")
    yield
    node.guest.sh(f"rm {HOLD}")


def is_told(told, had):
    """What stays, and that is not all it has."""
    return told != had


def is_taken(told, had):
    return told == had


def settled(node):
    node.eventually(lambda: not any(map(is_resizing, node.pods().values())), "all resizes are over")


def grown(node, made, name, count):
    """A pod with two CPUs of its own that has grown."""
    pod = tell(made.pod(name, 2))
    pod["metadata"]["annotations"] = {"corehold.dev/scale-delay": f"{DELAY}s"}
    node.apply([pod])
    node.settled()
    if count > 2:
        node.corehold(f"resize pod {name} --cpu {count} --wait")


def validate_scale_down_delay(node, made):
    grown(node, made, "db", 6)
    look = Look(node, "db")
    look.eventually("db", is_taken, "is seen")
    with held_delays(node):
        node.corehold("resize pod db --cpu 4")
        look.eventually("db", is_told, "is told what stays")
    settled(node)
    look.eventually("db", is_taken, "has what stays")
    look.end()
    look.check_shrink("db", 4)
    node.delete_all()


def is_deferred(pod):
    return any(c["type"] == "PodResizePending" and c.get("reason") == "Deferred"
               for c in pod["status"]["conditions"])


def resource_allocation_blocking(node, made):
    """Eleven CPUs: what two is to have is what one has."""
    grown(node, made, "one", 8)
    grown(node, made, "two", 2)
    # Whoever gains is looked at first: seen in both hands it was in both.
    look = Look(node, "two", "one")
    look.eventually("one", is_taken, "is seen")
    with held_delays(node):
        node.corehold("resize pod one --cpu 2")
        look.eventually("one", is_told, "is told what stays")
        node.corehold("resize pod two --cpu 8")
        node.eventually(lambda: is_deferred(node.pods()["two"]), "two waits")
    settled(node)
    look.eventually("one", is_taken, "has what stays")
    look.eventually("two", lambda _, had: len(cpus(had)) == 8, "has grown")
    look.end()
    look.check_shrink("one", 2)
    first, last = look.turns("two")[0], look.turns("two")[-1]
    assert len(cpus(last[1])) == 8 and cpus(first[1]) < cpus(last[1]), look.turns("two")
    both = [s for _, s in look.seen if cpus(s["two"][1]) & cpus(s["one"][1])]
    assert not both, both
    node.delete_all()


def validate_scale_up_before_timer_expiry(node, made):
    grown(node, made, "db", 4)
    look = Look(node, "db")
    look.eventually("db", is_taken, "is seen")
    with held_delays(node):
        node.corehold("resize pod db --cpu 2")
        look.eventually("db", is_told, "is told what stays")
        node.corehold("resize pod db --cpu 6 --wait")
        look.eventually("db", lambda told, had: told == had and len(cpus(had)) == 6, "is told that it has grown")
    look.end()
    turns = look.turns("db")
    print(f"  db: {turns}", flush=True)
    assert len(cpus(turns[1][0])) == 2 and turns[1][1] == turns[0][1], "the shrink was told, and pending"
    assert len(cpus(turns[-1][1])) == 6 and turns[-1][0] == turns[-1][1], turns
    assert all(cpus(turns[0][1]) <= cpus(had) for _, had in turns), "nothing was taken"
    node.delete_all()


def delay_12(guest):
    made = Pods()
    with GuestNode(guest, delayed("1s", "0"), wrapper=f"COREHOLD_HOLD_DELAYS={HOLD}") as node:
        for scenario in (
            validate_scale_down_delay,
            resource_allocation_blocking,
            validate_scale_up_before_timer_expiry,
        ):
            print(scenario.__name__, flush=True)
            scenario(node, made)


TESTS = {"delay_12": (M12, delay_12)}
