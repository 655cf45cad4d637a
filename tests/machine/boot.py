# SPDX-License-Identifier: Apache-2.0
"""The guest has the shape it should have, and corehold sees it."""
import json

from guest import M12, M16


def topology_of(guest):
    print(guest.sh("corehold --version"), end="")
    _, seconds = guest.timed("corehold --version")
    print(f"corehold --version: {seconds:.2f} s")
    text, seconds = guest.timed("corehold topology -o json")
    print(f"corehold topology: {seconds:.2f} s")
    return json.loads(text)


def cpus_of(things):
    return [thing["cpus"] for thing in things]


def boot_16(guest):
    seen = topology_of(guest)
    assert cpus_of(seen["sockets"]) == ["0-7", "8-15"], seen["sockets"]
    assert cpus_of(seen["numaNodes"]) == ["0-7", "8-15"], seen["numaNodes"]
    assert cpus_of(seen["l3Caches"]) == ["0-3", "4-7", "8-11", "12-15"], seen["l3Caches"]
    assert cpus_of(seen["cores"]) == [f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2)]
    assert [node["distances"] for node in seen["numaNodes"]] == [
        {"0": 10, "1": 21},
        {"0": 21, "1": 10},
    ]
    controllers = guest.sh("cat /sys/fs/cgroup/cgroup.controllers").split()
    assert {"cpuset", "cpu"} <= set(controllers), controllers


def boot_12(guest):
    seen = topology_of(guest)
    assert cpus_of(seen["sockets"]) == ["0-5", "6-11"], seen["sockets"]
    assert cpus_of(seen["numaNodes"]) == ["0-5", "6-11"], seen["numaNodes"]
    assert cpus_of(seen["l3Caches"]) == ["0-5", "6-11"], seen["l3Caches"]
    assert cpus_of(seen["cores"]) == [f"{cpu}-{cpu + 1}" for cpu in range(0, 12, 2)]


TESTS = {"boot_16": (M16, boot_16), "boot_12": (M12, boot_12)}
