# SPDX-License-Identifier: Apache-2.0
"""Nobody runs on a granted CPU: the leak proof, and that it fails where it must."""
import json
import time

from guest import M16
from guest_node import GuestNode, Pods, config

SAMPLES = 1_000_000
NEIGHBOUR = "--interval 1000 --capacity 4000000 --burst 1000000 --rest 24000000 --hop"
# CPUs and milliseconds of the grants. They do not fit all at once: those that wait are granted
# what others leave.
GRANTS = 2 * (
    *((2, 300), (4, 200), (6, 400), (3, 100), (2, 500)),
    *((5, 200), (4, 300), (8, 100), (2, 200), (6, 300)),
)


def holder(made, number, cpus, milliseconds):
    words = ["holder", "/tmp/proof", "--milliseconds", str(milliseconds)]
    return made.pod(f"hold-{number}", cpus, command=words, restartPolicy="Never")


def neighbour(made, name, count, *more):
    words = ["neighbour", "/tmp/proof", *NEIGHBOUR.split(), *more]
    return made.pod(name, *([None] * count), command=words)


def wait_until(guest, condition):
    """However long it takes: a busy host is no failure, and ctest ends what never ends."""
    guest.sh(condition, check=False)
    while guest.code != 0:
        time.sleep(1)
        guest.sh(condition, check=False)


def prove(guest, binary, grants):
    """The judge's verdict and counts."""
    made = Pods()
    guest.sh("mkdir -p /tmp/proof")
    with GuestNode(guest, config("0-1"), binary=binary) as node:
        node.apply(
            [
                neighbour(made, "spin", 3),
                neighbour(made, "fork", 2, "--fork-every", "500000000"),
                neighbour(made, "threads", 1, "--spinners", "3", "--threads"),
            ]
        )
        node.settled()
        began = time.monotonic()
        node.apply([holder(made, number, *grant) for number, grant in enumerate(grants)])
        wait_until(guest, f"[ $(ls /tmp/proof | grep -c 'grant.*[0-9]$') -ge {len(grants)} ]")
        print(f"{len(grants)} grants took {time.monotonic() - began:.1f} s", flush=True)
        for cpus in (4, 12):
            print(node.corehold_run(f"--cpus {cpus} --wait", "holder /tmp/proof --milliseconds 200"))
        # The judge says 2 as long as there are too few samples.
        wait_until(guest, "{ judge /tmp/proof > /dev/null 2>&1; [ $? -ne 2 ]; }")
        node.delete_all()
        said = guest.sh("judge /tmp/proof", check=False)
        verdict = guest.code
        print(said, flush=True)
    return verdict, json.loads(said.splitlines()[-1])


def leak_16(guest):
    verdict, counts = prove(guest, "corehold", GRANTS)
    assert counts["neighbours"] == 8, counts
    assert counts["grants"] == len(GRANTS) + 2, counts
    assert counts["leaks"] == 0 and counts["astray"] == 0, counts
    assert counts["samples"] >= SAMPLES, counts
    assert counts["near"] > 0 and counts["during"] > 0, counts
    assert verdict == 0, verdict
    print(f"{counts['leaks']} leaks of {counts['samples']} samples")


def leak_start_first_16(guest):
    """A build that starts first and shrinks later must be found out."""
    verdict, counts = prove(guest, "corehold_start_first", GRANTS[:5])
    assert verdict == 1 and counts["leaks"] > 0, counts
    print(f"{counts['leaks']} leaks of {counts['samples']} samples, as it must be")


TESTS = {"leak_16": (M16, leak_16), "leak_start_first_16": (M16, leak_start_first_16)}
