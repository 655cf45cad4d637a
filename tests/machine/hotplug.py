# SPDX-License-Identifier: Apache-2.0
"""CPUs that go offline and come back: followed, with a message that says so."""
from guest import M16
from guest_node import GuestNode, Pods, config, cpus


def switch(guest, cpu, on):
    guest.sh(f"echo {int(on)} > /sys/devices/system/cpu/cpu{cpu}/online")


def told_about(node, reason, cpu, about=None):
    """What an event of this reason says about the CPU; about the node, or about a pod."""
    for event in node.events():
        place = event["involvedObject"]
        where = place["name"] if place["kind"] == "Pod" else None
        if event["reason"] == reason and where == about and cpu in cpus_named(event["message"]):
            return event["message"]
    return None


def cpus_named(message):
    found = set()
    for word in message.replace(";", " ").replace(":", " ").split():
        try:
            found |= cpus(word.strip(".,()"))
        except ValueError:
            continue
    return found


class Follower:
    """Takes a CPU away and gives it back, and looks where containers are."""

    def __init__(self, guest, node, made):
        self.guest = guest
        self.node = node
        self.numbers = {place: number for number, place in made.containers.items()}

    def runs_on(self, pod):
        """The affinity of its process; the effective cpuset of its cgroup must be the same."""
        found = self.node.seen()[self.numbers[pod, "c0"]]
        files = self.node.cgroup_files([found["cgroup"]], "cpuset.cpus.effective")
        effective = cpus(files[found["cgroup"]]["cpuset.cpus.effective"])
        return effective if effective == cpus(found["cpus"]) else None

    def becomes(self, pod, wanted):
        self.node.eventually(lambda: self.runs_on(pod) == wanted, f"{pod} runs on {sorted(wanted)}")

    def go(self, what, cpu, before, after):
        """`before` and `after`: where each pod runs with and without the CPU."""
        for pod, wanted in before.items():
            self.becomes(pod, wanted)
        switch(self.guest, cpu, False)
        for pod, wanted in after.items():
            self.becomes(pod, wanted)
        message = self.node.eventually(
            lambda: told_about(self.node, "CpusOffline", cpu), f"an event says that {cpu} is offline"
        )
        told = self.node.cpu_map()
        assert cpus(told["offline"]) == {cpu}, told
        assert cpu not in cpus(told["shared"]) | cpus(told["free"]), told
        print(f"{what}: CPU {cpu}: {message}", flush=True)

    def come_back(self, cpu, before):
        switch(self.guest, cpu, True)
        for pod, wanted in before.items():
            self.becomes(pod, wanted)
        message = self.node.eventually(
            lambda: told_about(self.node, "CpusOnline", cpu), f"an event says that {cpu} is back"
        )
        told = self.node.cpu_map()
        assert cpus(told["offline"]) == set(), told
        print(f"  back: {message}", flush=True)


def hotplug_16(guest):
    everything = set(range(16))
    made = Pods()
    with GuestNode(guest, config("0-1", ["full-pcpus-only"])) as node:
        node.apply([made.pod("own", 4), made.pod("all", None)])
        node.settled()
        follower = Follower(guest, node, made)
        own = follower.runs_on("own")
        assert len(own) == 4
        shared = everything - own
        before = {"own": own, "all": shared}
        restarts = pids(node)

        last = max(shared)
        follower.go("shared", last, before, {"own": own, "all": shared - {last}})
        # Nobody is given a core that is not there whole.
        node.apply([made.pod("late", 2)])
        follower.numbers = {place: number for number, place in made.containers.items()}
        node.settled()
        late = follower.runs_on("late")
        assert not late & {last, last - 1} and len(late) == 2, late
        node.delete("late")
        node.eventually(lambda: "late" not in node.pods(), "late is gone")
        follower.come_back(last, before)

        held = max(own)
        follower.go("exclusive", held, before, {"own": own - {held}, "all": shared})
        print(f"  its holder: {told_about(node, 'CpusOffline', held, about='own')}", flush=True)
        assert told_about(node, "CpusOffline", held, about="own"), node.events()
        assert not told_about(node, "CpusOffline", last, about="own"), node.events()
        follower.come_back(held, before)

        assert pids(node) == restarts, "somebody was restarted"
    # A CPU that is free to give, with nobody on it: strict reservation, no shared container.
    with GuestNode(guest, config("0", ["strict-cpu-reservation"])) as node:
        made = Pods()
        follower = Follower(guest, node, made)
        follower.go("free", 1, {}, {})
        node.apply([made.pod("own", 2)])
        follower.numbers = {place: number for number, place in made.containers.items()}
        node.settled()
        assert 1 not in follower.runs_on("own")
        follower.come_back(1, {})


def pids(node):
    return {number: found["pid"] for number, found in node.seen().items()}


TESTS = {"hotplug_16": (M16, hotplug_16)}
