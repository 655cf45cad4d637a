# SPDX-License-Identifier: Apache-2.0
"""Resizes in place of real processes: where the kernel lets them run, and what their files say.

The worked example of KEP-5554, the swap of CPUs between two containers of a full node, and a
shrink that is decided again by another agent.
"""
from guest import M12
from guest_node import GuestNode, Pods, config, cpus

GATES = {"InPlacePodVerticalScalingExclusiveCPUs": True}
# CPUs 0-5 are node 0, 6-11 node 1; siblings are neighbours.
WORKED = config("11", ["full-pcpus-only"], topology="single-numa-node", featureGates=GATES)
# How many CPUs, the CPUs after it, whether it can be.
STEPS = ((4, "0-3", True), (6, "0-5", True), (8, "0-5", False), (4, "0-3", True),
         (1, "0-3", False), (2, "0-1", True))


def where(node, made):
    """{container: where the kernel lets it run}, process and cgroup agree."""
    seen = node.seen()
    files = node.cgroup_files(
        [found["cgroup"] for found in seen.values()], "cpuset.cpus.effective", "cpu.weight"
    )
    found = {}
    for number, process in seen.items():
        effective = files[process["cgroup"]]["cpuset.cpus.effective"]
        assert cpus(effective) == cpus(process["cpus"]), (process, effective)
        found["/".join(made.containers[number])] = cpus(effective)
    return found


def pids(node):
    return {number: found["pid"] for number, found in node.seen().items()}


def resize(node, pod, *amounts, done=True):
    """Amounts are (container, CPUs)."""
    words = " ".join(f"-c {container} --cpu {count}" for container, count in amounts)
    said = node.corehold(f"resize pod {pod} {words} --wait --timeout 60", check=False)
    assert (node.guest.code == 0) == done, (node.guest.code, said)
    return said


def condition(node, pod, kind):
    found = [c for c in node.pods()[pod]["status"]["conditions"] if c["type"] == kind]
    return found[0] if found else None


def worked_example(guest):
    made = Pods()
    with GuestNode(guest, WORKED) as node:
        node.apply([made.pod("web", None), made.pod("db", 2)])
        node.settled(2)
        assert where(node, made)["db/c0"] == cpus("0-1"), where(node, made)
        before = pids(node)
        for count, right, is_possible in STEPS:
            resize(node, "db", ("c0", count), done=is_possible)
            found = where(node, made)
            print(f"  {count} CPUs: db on {sorted(found['db/c0'])}", flush=True)
            assert found["db/c0"] == cpus(right), (count, found)
            assert found["web/c0"] == cpus("0-11") - cpus(right), (count, found)
            pending = condition(node, "db", "PodResizePending")
            assert (pending is None) == is_possible, pending
            if pending:
                assert pending["reason"] == "Infeasible", pending
        assert pids(node) == before, "a resize has started something anew"
        (promised,) = [holder["promised"] for holder in node.cpu_map()["containers"]]
        assert cpus(promised) == cpus("0-1"), promised


def swap(guest):
    """On a full node one container's shrink feeds the other's growth."""
    made = Pods()
    with GuestNode(guest, config("0", featureGates=GATES)) as node:
        node.apply([made.pod("pair", 2, 1), made.pod("rest", 4)])
        node.settled(3)
        resize(node, "pair", ("c0", 6))
        first = where(node, made)
        assert len(first["pair/c0"]) == 6, first
        resize(node, "pair", ("c0", 2), ("c1", 5))
        second = where(node, made)
        print(f"  swap: {first} -> {second}", flush=True)
        assert len(second["pair/c0"]) == 2 and len(second["pair/c1"]) == 5, second
        assert second["pair/c1"] >= first["pair/c1"], (first, second)
        assert not second["pair/c0"] & second["pair/c1"], second


def is_granted(node, count):
    """Whether the resize is over, by what the node says."""
    if condition(node, "db", "PodResizeInProgress") or condition(node, "db", "PodResizePending"):
        return False
    held = [found for found in node.cpu_map()["containers"] if found["pod"] == "db"]
    return len(held) == 1 and len(cpus(held[0]["assigned"])) == count


def crash(guest):
    """Killed at any time, what was granted is what the next agent gives."""
    made = Pods()
    with GuestNode(guest, config("0", featureGates=GATES)) as node:
        node.apply([made.pod("db", 2), made.pod("web", None)])
        node.settled(2)
        before = pids(node)
        own = where(node, made)["db/c0"]
        for count in (6, 3, 8, 2):
            node.corehold(f"resize pod db --cpu {count}")
            node.end("KILL")
            node.start()
            node.eventually(lambda n=count: is_granted(node, n), f"db has {count} CPUs")
            found = where(node, made)
            assert len(found["db/c0"]) == count, found
            print(f"  {count} CPUs after a crash: {sorted(found['db/c0'])}", flush=True)
            assert own <= found["db/c0"], (own, found)
            assert not found["db/c0"] & found["web/c0"], found
        assert pids(node) == before, "a resize or a crash has started something anew"


def resize_12(guest):
    worked_example(guest)
    swap(guest)
    crash(guest)


TESTS = {"resize_12": (M12, resize_12)}
