# SPDX-License-Identifier: Apache-2.0
"""Churn on cgroup v2: clients of all kinds and an agent that is killed now and then.

tests/churn/churner.cc says what happens and what is looked at. The agent should be one with sanitizers:

    COREHOLD_CHURN_SECONDS=3600 tests/machine/machine_test.py --cache build/churn \\
      --program build/asan/src/main/corehold --program build/asan/tests/churn/churner churn_16

The seed is printed; COREHOLD_SEED sets it.
"""
import json
import os
import random
import time

from guest import Shape
from guest_node import config

SECONDS = int(os.environ.get("COREHOLD_CHURN_SECONDS", "20"))
SEED = int(os.environ.get("COREHOLD_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
PROGRESS = 30  # seconds between looks
LONGEST_LIFE = min(60, max(10, SECONDS // 10))  # of an agent, which takes seconds to start
# As M16, with memory for programs with sanitizers.
MACHINE = Shape("churn", 16, "sockets=2,dies=2,cores=2,threads=2", ("0-7", "8-15"), 1536)
FOLDER = "/tmp/churn"
CONFIG = config(
    "0-1",
    featureGates={"InPlacePodVerticalScalingExclusiveCPUs": True},
    staticPodPath=f"{FOLDER}/static",
)
# What must have happened, or it has shown nothing.
EXPECTED = ("agent kills", "checks", "create 201", "delete 200", "looks at the cgroups",
            "podresources", "read 200", "resize 200", "run exit 0", "static pods written",
            "watch events")


def churn_16(guest):
    print(f"seed {SEED}, {SECONDS} s", flush=True)
    guest.sh(f"mkdir -p {FOLDER}/static {FOLDER}/said")
    guest.write(f"{FOLDER}/config.yaml", CONFIG)
    guest.sh(
        f"{{ churner --binary corehold --config {FOLDER}/config.yaml --root {FOLDER}/root"
        f" --static-pods {FOLDER}/static --folder {FOLDER}/said --seconds {SECONDS} --seed {SEED}"
        f" --longest-life {LONGEST_LIFE};"
        f" echo $? > {FOLDER}/code; }} > {FOLDER}/output 2>&1 &"
    )
    shown = 0
    while not guest.sh(f"cat {FOLDER}/code 2> /dev/null", check=False).strip():
        time.sleep(min(PROGRESS, max(1, SECONDS // 10)))
        text = guest.sh(f"cat {FOLDER}/output")
        print(text[shown:], end="", flush=True)
        shown = len(text)
    text = guest.sh(f"cat {FOLDER}/output")
    print(text[shown:], flush=True)
    code = guest.sh(f"cat {FOLDER}/code").strip()
    print(guest.sh(f"ls -l {FOLDER}/said; free -m; dmesg | grep -i -e oom -e hung", check=False))
    assert code == "0", f"exit code {code}"
    counts = json.loads(text.splitlines()[-1])
    missing = [name for name in EXPECTED if not counts.get(name)]
    assert not missing or SECONDS < 60, f"never happened: {missing}"
    strange = {name: count for name, count in counts.items() if name.endswith(" 500")}
    assert not strange, strange
    left = guest.sh(
        "find /sys/fs/cgroup -mindepth 2 -path '*corehold*' -type d; grep corehold /proc/mounts", check=False
    )
    assert left.strip() == "", left


TESTS = {"churn_16": (MACHINE, churn_16)}
