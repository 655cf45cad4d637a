# SPDX-License-Identifier: Apache-2.0
"""Told before taken, with real processes in real cgroups.

Scenarios 1 to 3 of KEP-6122, and the reader proof: containers that read what they are told and
look at their own affinity while they are resized thousands of times, and a judge that compares.
"""
import json
import os
from dataclasses import dataclass

from guest import M16
from guest_node import GuestNode, Pods, config

GATES = {
    "InPlacePodVerticalScalingExclusiveCPUs": True,
    "CPUManagerPolicyAlphaOptions": True,
    "DownwardAPIAssignedResources": True,
}
PROOF = "/tmp/told"
FOLDER = "/etc/podinfo"
RESIZES = int(os.environ.get("COREHOLD_RESIZES", "300"))
LEAST, MOST = 1, 3  # CPUs of a container; 2-15 are there for them


@dataclass(frozen=True)
class Setting:
    """Pods that are resized, all at the same time."""

    delays: tuple  # of each pod, milliseconds
    containers: int  # of each pod
    rest: int  # milliseconds between two resizes of a pod, on average
    pause: int  # microseconds between two looks of a reader, which costs most of a millisecond here
    items: int  # of a volume, beside those that tell CPUs


PROVEN = Setting(delays=(0, 60), containers=3, rest=60, pause=20_000, items=0)
# Files that take long to write, and an agent with little else to do: a timer that does not wait
# for them is as much too early.
MUTANT = Setting(delays=(2000,), containers=2, rest=3000, pause=10_000, items=400)
MUTANT_RESIZES = 24


def delayed(delay, reserved="0-1"):
    """A configuration with this delay."""
    more = {"featureGates": GATES, "cpuManagerPolicyOptions": {"scale-delay-time": delay}}
    return config(reserved, **more)


def tell(pod, more=0):
    """The pod, with a volume that tells each container its CPUs, in a file of its name."""
    def item(path, container, resource):
        return {"path": path, "resourceFieldRef": {"containerName": container, "resource": resource}}

    containers = pod["spec"]["containers"]
    items = [item(c["name"], c["name"], "assigned.cpuset") for c in containers]
    items += [item(f"more-{number}", "c0", "requests.cpu") for number in range(more)]
    pod["spec"]["volumes"] = [{"name": "told", "downwardAPI": {"items": items}}]
    for container in containers:
        container["volumeMounts"] = [{"name": "told", "mountPath": FOLDER}]
    return pod


def readers(made, name, delay, setting):
    """A pod whose containers write down what they are told and have."""
    pod = tell(made.pod(name, *[LEAST] * setting.containers), setting.items)
    for container in pod["spec"]["containers"]:
        own = container["name"]
        # What it writes down counts as its memory.
        container["resources"]["limits"]["memory"] = "256Mi"
        container["command"] = ["reader", PROOF, f"{name}-{own}", f"{FOLDER}/{own}", "--delay", str(delay),
                                "--pause", str(setting.pause), "--capacity", "1000000"]
    pod["metadata"]["annotations"] = {"corehold.dev/scale-delay": f"{delay}ms" if delay else "off"}
    return pod


def metric(node, name):
    """The lines of a metric."""
    return node.guest.sh(f"resizer {node.root}/run/corehold.sock --show {name}").splitlines()


def prove(guest, binary, resizes, setting):
    """The judge's verdict and counts, and what the agent says of CPUs taken untold."""
    made = Pods()
    names = {f"told-{delay}": delay for delay in setting.delays}
    guest.sh(f"rm -rf {PROOF}; mkdir -p {PROOF}")
    with GuestNode(guest, delayed("60ms"), binary=binary) as node:
        node.apply([readers(made, name, delay, setting) for name, delay in names.items()])
        node.settled()
        wanted = setting.containers * len(names)
        guest.sh(f"until [ $(ls {PROOF} | grep -c ^told) -ge {wanted} ]; do usleep 100000; done")
        pods = " ".join(f"--pod {name}:{setting.containers}:{LEAST}:{MOST}:{setting.rest}" for name in names)
        said = guest.sh(f"resizer {node.root}/run/corehold.sock --count {resizes} {pods}", timeout=3600)
        print(said.strip(), flush=True)
        assert json.loads(said)["resizes"] >= resizes, said
        node.eventually(lambda: not any(map(is_resizing, node.pods().values())), "all resizes are over")
        for name in ("corehold_scale_delay", "kubelet_pod_resize_duration_milliseconds_count"):
            print("\n".join(line for line in metric(node, name) if "bucket" not in line), flush=True)
        (late,) = metric(node, "corehold_told_after_taken_total")
        node.delete_all()
        found = guest.sh(f"told_judge {PROOF} --at-least {resizes // 5}", check=False)
        verdict = guest.code
        print(late, found, sep="\n", flush=True)
    return verdict, json.loads(found.splitlines()[-1]), int(late.split()[1])


def is_resizing(pod):
    kinds = {condition["type"] for condition in pod["status"]["conditions"]}
    return bool(kinds & {"PodResizePending", "PodResizeInProgress"})


def told_16(guest):
    verdict, counts, late = prove(guest, "corehold", RESIZES, PROVEN)
    assert verdict == 0 and late == 0, (counts, late)
    assert counts["containers"] == PROVEN.containers * len(PROVEN.delays), counts
    print(f"told before taken: {counts['shrunk']} times fewer CPUs in {counts['versions']} versions")


def must_fail(binary):
    """A build with a mistake must be found out."""
    def test(guest):
        verdict, counts, _ = prove(guest, binary, MUTANT_RESIZES, MUTANT)
        assert verdict == 1 and counts["taken_early"] > 0, counts
        print(f"{binary}: {counts['taken_early']} looks without a CPU that was promised, as it must be")

    return test


TESTS = {
    "told_16": (M16, told_16),
    "told_timer_before_file_16": (M16, must_fail("corehold_timer_before_file")),
    "told_release_before_confirm_16": (M16, must_fail("corehold_release_before_confirm")),
}
