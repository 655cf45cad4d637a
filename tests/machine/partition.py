# SPDX-License-Identifier: Apache-2.0
"""Isolated partitions: made, grown, shrunk, ended, and invalidated by somebody else's write.

What the kernel says counts: cpuset.cpus.partition of the container, cpuset.cpus.isolated of the
root, and where processes of the root cgroup may run.
"""
import json
import time

import image
from guest import M16
from guest_node import GuestNode, Pods, config, cpus
from resize import resize, where

GATES = {"InPlacePodVerticalScalingExclusiveCPUs": True}
CONFIG = config("0-1", featureGates=GATES)
TOP = "/sys/fs/cgroup"


def quiet_pod(made, name, count):
    pod = made.pod(name, count)
    pod["metadata"]["annotations"] = {"corehold.dev/quiet": "partition"}
    return pod


def read(guest, path):
    return guest.sh(f"cat {path}", check=False).strip()


def cgroup_of(node, made, pod):
    for number, process in node.seen().items():
        if made.containers[number][0] == pod:
            return TOP + process["cgroup"]
    raise AssertionError(f"pod {pod} does not run")


def exclusive_above(guest, cgroup):
    """cpuset.cpus.exclusive of the cgroups above this one."""
    found = {}
    while (cgroup := cgroup.rpartition("/")[0]) != TOP:
        found[cgroup] = cpus(read(guest, f"{cgroup}/cpuset.cpus.exclusive"))
    return found


def expect(node, made, pod, wanted):
    guest = node.guest
    cgroup = cgroup_of(node, made, pod)
    assert read(guest, f"{cgroup}/cpuset.cpus.partition") == "isolated"
    assert where(node, made)[f"{pod}/c0"] == wanted
    assert cpus(read(guest, f"{TOP}/cpuset.cpus.isolated")) == wanted
    for level, exclusive in exclusive_above(guest, cgroup).items():
        assert exclusive == wanted, (level, exclusive)
    return cgroup


def reasons(node):
    return {event["reason"] for event in node.events()}


def invalidate(guest, cpu):
    """A cgroup of somebody else that is given a CPU of the partition for itself."""
    guest.sh(
        f"echo +cpuset > {TOP}/cgroup.subtree_control; mkdir -p {TOP}/other;"
        f" echo {cpu} > {TOP}/other/cpuset.cpus.exclusive; echo {cpu} > {TOP}/other/cpuset.cpus;"
        f" echo root > {TOP}/other/cpuset.cpus.partition",
        check=False,
    )


def partition(guest):
    made = Pods()
    kernel = guest.sh("uname -r").strip()
    has_partitions = guest.sh(f"[ -e {TOP}/cpuset.cpus.isolated ]; echo $?").strip() == "0"
    with GuestNode(guest, CONFIG) as node:
        if not has_partitions:
            guest.write("/tmp/pods.json", json.dumps(quiet_pod(made, "dpdk", 2)))
            said = node.corehold("apply -f /tmp/pods.json", check=False)
            assert node.guest.code == 1 and "Linux 6.7" in said, said
            print(f"  {kernel}: refused: {said.strip()}", flush=True)
            return
        node.apply([made.pod("web", None), quiet_pod(made, "dpdk", 2)])
        node.settled(2)
        cgroup = expect(node, made, "dpdk", cpus("2-3"))
        resize(node, "dpdk", ("c0", 6))
        expect(node, made, "dpdk", cpus("2-7"))
        resize(node, "dpdk", ("c0", 2))
        expect(node, made, "dpdk", cpus("2-3"))
        print(f"  {kernel}: made, grown and shrunk", flush=True)
        break_it(node, made, cgroup)
        node.end("KILL")
        node.start()
        expect(node, made, "dpdk", cpus("2-3"))
        above = exclusive_above(guest, cgroup)
        node.delete("dpdk")
        node.eventually(lambda: "dpdk" not in node.pods(), "the pod is gone")
        assert read(guest, f"{TOP}/cpuset.cpus.isolated") == ""
        for level in above:
            left = read(guest, f"[ ! -d {level} ] || cat {level}/cpuset.cpus.exclusive")
            assert left in ("", "none") or "No such file" in left, (level, left)
        print(f"  {kernel}: ended", flush=True)


def break_it(node, made, cgroup):
    """Made a plain cgroup behind the agent's back: noticed by itself and repaired."""
    guest = node.guest
    guest.sh(f"echo member > {cgroup}/cpuset.cpus.partition")
    began = time.monotonic()
    node.eventually(
        lambda: read(guest, f"{cgroup}/cpuset.cpus.partition") == "isolated", "it is one again"
    )
    print(f"  repaired within {time.monotonic() - began:.2f} s of the host's clock", flush=True)
    invalidate(guest, 3)
    stays = read(guest, f"{cgroup}/cpuset.cpus.partition") == "isolated"
    if stays and "PartitionLost" not in reasons(node):
        print("  a sibling's write does not invalidate it on this kernel", flush=True)
    else:
        node.eventually(lambda: "PartitionLost" in reasons(node), "its loss is told")
        print("  invalidated by a sibling: told", flush=True)
    guest.sh(f"echo member > {TOP}/other/cpuset.cpus.partition; rmdir {TOP}/other", check=False)
    node.eventually(
        lambda: read(guest, f"{cgroup}/cpuset.cpus.partition") == "isolated", "it is one again"
    )


TESTS = {
    f"partition_{suite}": (M16, partition, {"suite": suite}) for suite in image.KERNELS
}
