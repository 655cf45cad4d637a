# SPDX-License-Identifier: Apache-2.0
"""Nobody runs on a granted CPU: the leak proof, and that it fails where it must."""
import json
import time

from guest import M16
from guest_node import GuestNode, Pods, config

SAMPLES = 1_000_000
NEIGHBOUR = "--interval 2000 --capacity 2000000 --burst 1000000 --rest 6000000 --hop"
# Each line takes its CPUs again and again; together they fit into the fourteen there are.
LANES = (("--cpus 2", 300), ("--cpus 4", 200), ("--cpus 6", 400))
ROUNDS = 7


def prove(guest, binary):
    """The judge's counts."""
    made = Pods()
    guest.sh("mkdir -p /tmp/proof")
    words = NEIGHBOUR.split()
    with GuestNode(guest, config("0-1"), binary=binary) as node:
        node.apply(
            [
                made.pod("spin-a", None, None, None, command=["neighbour", "/tmp/proof", *words]),
                made.pod(
                    "spin-b",
                    None,
                    None,
                    command=["neighbour", "/tmp/proof", *words, "--fork-every", "50000000"],
                ),
                made.pod(
                    "spin-c",
                    None,
                    command=["neighbour", "/tmp/proof", *words, "--spinners", "3", "--threads"],
                ),
            ]
        )
        node.settled()
        began = time.monotonic()
        lanes = "".join(
            f"( I=0; while [ $I -lt {ROUNDS} ]; do I=$((I+1)); {binary} run {cpus} --wait"
            f" --root {node.root} -- holder /tmp/proof --milliseconds {milliseconds}"
            f" || echo \"run failed: $?\"; done ) & "
            for cpus, milliseconds in LANES
        )
        pids = "wait $(jobs -p)"
        print(guest.sh(f"{lanes}\n{pids}", timeout=400), flush=True)
        print(f"{ROUNDS * len(LANES)} grants took {time.monotonic() - began:.1f} s")
        node.delete_all()
        said = guest.sh("judge /tmp/proof", timeout=120, check=False)
        verdict = guest.code
        print(said)
    return verdict, json.loads(said.splitlines()[-1])


def leak_16(guest):
    verdict, counts = prove(guest, "corehold")
    assert counts["neighbours"] == 8, counts
    assert counts["grants"] == ROUNDS * len(LANES), counts
    assert counts["leaks"] == 0 and counts["astray"] == 0, counts
    assert counts["samples"] >= SAMPLES, counts
    assert counts["near"] > 0 and counts["during"] > 0, counts
    assert verdict == 0, verdict
    print(f"{counts['leaks']} leaks of {counts['samples']} samples")


def leak_start_first_16(guest):
    """A build that starts first and shrinks later must be found out."""
    verdict, counts = prove(guest, "corehold_start_first")
    assert verdict == 1 and counts["leaks"] > 0, counts
    print(f"{counts['leaks']} leaks of {counts['samples']} samples, as it must be")


TESTS = {"leak_16": (M16, leak_16), "leak_start_first_16": (M16, leak_start_first_16)}
