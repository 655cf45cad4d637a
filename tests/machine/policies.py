# SPDX-License-Identifier: Apache-2.0
"""Where the kernel lets containers run is what `corehold plan` said, for every policy.

Each case is a configuration and lists of pods. A list is planned and applied in the guest; then
the kernel is asked about every container: the affinity of its process, and the effective
cpusets of its cgroup. Pods that the plan refuses wait, and say why.
"""
import json

from guest import M12, M16
from guest_node import GuestNode, Pods, config, cpus, manifest, runs, waits


def planned(guest, node, pods):
    guest.write("/tmp/planned.json", manifest(pods))
    return json.loads(
        guest.sh(f"corehold plan -f /tmp/planned.json --config {node.config} -o json")
    )


def was_told(node, pod, text):
    """Whether the pod gives this reason, or gave it before others took what was there then."""
    (scheduled,) = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
    return text in scheduled["message"] or any(
        text in event["message"] and event["involvedObject"]["uid"] == pod["metadata"]["uid"]
        for event in node.events()
    )


def check_pods(guest, node, made, pods, pinned, all_nodes):
    plan = planned(guest, node, pods)
    node.apply(pods)
    states = node.settled(
        sum(len(entry["containers"]) for entry in plan["pods"] if entry["admitted"])
    )
    seen = node.seen()
    files = node.cgroup_files(
        [found["cgroup"] for found in seen.values()],
        "cpuset.cpus.effective",
        "cpuset.mems.effective",
    )
    numbers = {place: number for number, place in made.containers.items()}
    rows = []
    for entry in plan["pods"]:
        name = entry["pod"].removeprefix("default/")
        if not entry["admitted"]:
            rows.append(f"{name} waits")
            assert waits(states[name]), (name, entry["refusal"], states[name]["status"])
            assert was_told(node, states[name], entry["refusal"]["text"]), (entry, states[name])
            for container in entry["containers"]:
                assert numbers[name, container["name"]] not in seen, f"{name} runs"
            continue
        assert runs(states[name]), (name, states[name]["status"])
        for container in entry["containers"]:
            found = seen[numbers[name, container["name"]]]
            wanted = cpus(container["assigned"] or plan["shared"])
            nodes = cpus(container["numaNodes"]) if pinned and container["assigned"] else all_nodes
            effective = files[found["cgroup"]]
            rows.append(f"{name}/{container['name']} {found['cpus']}")
            where = (name, container, found, effective, plan["shared"])
            assert cpus(found["cpus"]) == wanted, where
            assert cpus(effective["cpuset.cpus.effective"]) == wanted, where
            assert cpus(found["mems"]) == nodes, where
            assert cpus(effective["cpuset.mems.effective"]) == nodes, where
    told = node.cpu_map()
    assert cpus(told["shared"]) == cpus(plan["shared"]), (told["shared"], plan["shared"])
    print("  " + ", ".join(rows), flush=True)


def check_case(guest, name, text, lists, pinned=False):
    print(f"{name}:", flush=True)
    all_nodes = cpus(guest.sh("cat /sys/devices/system/node/online"))
    with GuestNode(guest, text) as node:
        for limits in lists:
            made = Pods()
            pods = [made.pod(f"p{index}", *several) for index, several in enumerate(limits)]
            check_pods(guest, node, made, pods, pinned, all_nodes)
            node.delete(*(pod["metadata"]["name"] for pod in pods))


SHARED = (None,)


def options_16(guest):
    check_case(
        guest,
        "full-pcpus-only",
        config("0-1", ["full-pcpus-only"]),
        [[SHARED, (2,), (3,), (4,), (1, 2), (6,), ("500m",), (4,)]],
    )
    check_case(
        guest,
        "distribute-cpus-across-numa",
        config("0,8", ["distribute-cpus-across-numa"]),
        [[(2, 1), (10,), SHARED, (2,)]],
    )
    check_case(
        guest,
        "prefer-align-cpus-by-uncorecache",
        config("0", ["prefer-align-cpus-by-uncorecache"]),
        [[SHARED, (2,), (4,), (3,), (2,), (1,)]],
    )
    check_case(
        guest,
        "strict-cpu-reservation",
        config("0-1", ["strict-cpu-reservation"]),
        [[SHARED, (6,), (7,), (1,), (2,)]],
    )
    check_case(
        guest,
        "all four",
        config(
            "0-1",
            [
                "full-pcpus-only",
                "distribute-cpus-across-numa",
                "prefer-align-cpus-by-uncorecache",
                "strict-cpu-reservation",
            ],
        ),
        [[(2,), (10,), SHARED, (2,), (1,)]],
    )


# Five of node 0 and six of node 1 leave four CPUs that are not together; ten are never.
APART = [SHARED, (5,), (6,), (4,), (1,)]
WIDE = [(10,), (3,), SHARED, (2,)]


def topology_policies_16(guest):
    for policy in ("none", "best-effort"):
        check_case(guest, policy, config("0", topology=policy), [APART])
    for policy in ("restricted", "single-numa-node"):
        check_case(guest, policy, config("0", topology=policy), [APART, WIDE])
    check_case(
        guest,
        "single-numa-node, scope pod, memoryPinning",
        config("0", topology="single-numa-node", scope="pod", own={"memoryPinning": True}),
        [[(4, 4), (2, 3), SHARED, (2, 1)]],
        pinned=True,
    )


def memory_pinning_16(guest):
    check_case(
        guest,
        "memoryPinning, spread",
        config("0", ["distribute-cpus-across-numa"], own={"memoryPinning": True}),
        [[(10,), (2,), SHARED, ("500m",)]],
        pinned=True,
    )


def policies_12(guest):
    check_case(
        guest,
        "full-pcpus-only and single-numa-node",
        config("11", ["full-pcpus-only"], topology="single-numa-node"),
        [[(2,), (4,), (6,), (3,), (4,), SHARED]],
    )
    check_case(
        guest,
        "distribute-cpus-across-numa, strict-cpu-reservation",
        config("0,6", ["distribute-cpus-across-numa", "strict-cpu-reservation"]),
        [[(8,), SHARED, (1,), (1,)]],
    )
    check_case(
        guest,
        "prefer-align-cpus-by-uncorecache, restricted, memoryPinning",
        config(
            "0",
            ["prefer-align-cpus-by-uncorecache"],
            topology="restricted",
            own={"memoryPinning": True},
        ),
        [[(3,), (4,), (4,), SHARED, (2,)]],
        pinned=True,
    )


TESTS = {
    "options_16": (M16, options_16),
    "topology_policies_16": (M16, topology_policies_16),
    "memory_pinning_16": (M16, memory_pinning_16),
    "policies_12": (M12, policies_12),
}
