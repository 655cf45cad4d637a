# SPDX-License-Identifier: Apache-2.0
"""Told before taken, with real processes in real cgroups.

Scenarios 1 to 3 of KEP-6122, and the reader proof: containers that read what they are told and
look at their own affinity while they are resized thousands of times, and a judge that compares.
"""
import json
import os

from guest import M16
from guest_node import GuestNode, Pods, config

GATES = {
    "InPlacePodVerticalScalingExclusiveCPUs": True,
    "CPUManagerPolicyAlphaOptions": True,
    "DownwardAPIAssignedResources": True,
}
PROOF = "/tmp/told"
FOLDER = "/etc/podinfo"
RESIZES = int(os.environ.get("COREHOLD_RESIZES", "450"))
# Milliseconds of delay of each pod, each with so many containers; they have one CPU of their own
# and up to three. CPUs 2-15 are there for them.
DELAYS = (0, 60)
CONTAINERS, LEAST, MOST = 3, 1, 3
PAUSE = 4000  # microseconds between two looks of a reader; under emulation more looks cost too much
# More items take longer to write: a timer that does not wait for the file is found out sooner.
MORE_ITEMS = 20


def delayed(delay, reserved="0-1"):
    """A configuration with this delay."""
    more = {"featureGates": GATES, "cpuManagerPolicyOptions": {"scale-delay-time": delay}}
    return config(reserved, **more)


def tell(pod, more_items=0):
    """The pod, with a volume that tells each container its CPUs, in a file of its name."""
    def item(path, container, resource):
        return {"path": path, "resourceFieldRef": {"containerName": container, "resource": resource}}

    containers = pod["spec"]["containers"]
    items = [item(c["name"], c["name"], "assigned.cpuset") for c in containers]
    items += [item(f"more-{number}", "c0", "requests.cpu") for number in range(more_items)]
    pod["spec"]["volumes"] = [{"name": "told", "downwardAPI": {"items": items}}]
    for container in containers:
        container["volumeMounts"] = [{"name": "told", "mountPath": FOLDER}]
    return pod


def readers(made, name, delay):
    """A pod whose containers write down what they are told and have."""
    pod = tell(made.pod(name, *[LEAST] * CONTAINERS), MORE_ITEMS)
    for container in pod["spec"]["containers"]:
        own = container["name"]
        # What it writes down counts as its memory.
        container["resources"]["limits"]["memory"] = "256Mi"
        container["command"] = ["reader", PROOF, f"{name}-{own}", f"{FOLDER}/{own}",
                                "--delay", str(delay), "--pause", str(PAUSE), "--capacity", "1000000"]
    pod["metadata"]["annotations"] = {"corehold.dev/scale-delay": f"{delay}ms" if delay else "off"}
    return pod


def metric(node, name):
    """The lines of a metric."""
    return node.guest.sh(f"resizer {node.root}/run/corehold.sock --show {name}").splitlines()


def prove(guest, binary, resizes):
    """The judge's verdict and counts."""
    made = Pods()
    guest.sh(f"rm -rf {PROOF}; mkdir -p {PROOF}")
    with GuestNode(guest, delayed("60ms"), binary=binary) as node:
        node.apply([readers(made, f"told-{delay}", delay) for delay in DELAYS])
        node.settled()
        wanted = CONTAINERS * len(DELAYS)
        guest.sh(f"until [ $(ls {PROOF} | grep -c ^told) -ge {wanted} ]; do usleep 100000; done")
        pods = " ".join(f"--pod told-{delay}:{CONTAINERS}:{LEAST}:{MOST}:{max(delay, 20)}" for delay in DELAYS)
        said = guest.sh(f"resizer {node.root}/run/corehold.sock --count {resizes} {pods}", timeout=3600)
        print(said.strip(), flush=True)
        assert json.loads(said)["resizes"] >= resizes, said
        node.eventually(lambda: not any(map(is_resizing, node.pods().values())), "all resizes are over")
        for name in ("corehold_told", "corehold_scale_delay", "kubelet_pod_resize_duration_milliseconds_count"):
            print("\n".join(metric(node, name)), flush=True)
        late = metric(node, "corehold_told_after_taken_total")
        node.delete_all()
        found = guest.sh(f"told_judge {PROOF}", timeout=600, check=False)
        verdict = guest.code
        print(found, flush=True)
        if binary == "corehold":
            assert late == ["corehold_told_after_taken_total 0"], late
    return verdict, json.loads(found.splitlines()[-1])


def is_resizing(pod):
    kinds = {condition["type"] for condition in pod["status"]["conditions"]}
    return bool(kinds & {"PodResizePending", "PodResizeInProgress"})


def told_16(guest):
    verdict, counts = prove(guest, "corehold", RESIZES)
    assert verdict == 0, counts
    assert counts["containers"] == CONTAINERS * len(DELAYS), counts
    print(f"told before taken: {counts['shrunk']} times fewer CPUs in {counts['versions']} versions")


def must_fail(binary):
    """A build with a mistake must be found out."""
    def test(guest):
        verdict, counts = prove(guest, binary, RESIZES // 5)
        assert verdict == 1 and counts["taken_early"] > 0, counts
        print(f"{binary}: {counts['taken_early']} looks without a CPU that was promised, as it must be")

    return test


TESTS = {
    "told_16": (M16, told_16),
    "told_timer_before_file_16": (M16, must_fail("corehold_timer_before_file")),
    "told_release_before_confirm_16": (M16, must_fail("corehold_release_before_confirm")),
}
