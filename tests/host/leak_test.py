#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody runs on a granted CPU: eight spinning neighbours, grants that come and go.

    leak_test.py PROGRAMS [--must-leak]

Each neighbour writes down the clock and then its CPU, over and over; each holder of an
exclusive CPU writes down the clock as its first act. The judge counts the neighbours'
samples that are later than a grant and on a CPU of it. With --must-leak the node is one that
starts first and shrinks later, and the test passes only if the judge catches it.
"""
import json
import os
import subprocess
import sys
import time
import unittest

from node import NodeTest, eventually, pod

MUST_LEAK = "--must-leak" in sys.argv
if MUST_LEAK:
    sys.argv.remove("--must-leak")
PROGRAMS = sys.argv.pop()
NEIGHBOURS = 8
GRANTS = 12
ENOUGH = 1_000_000


class Neighbours(NodeTest):
    def test_never_run_on_a_granted_cpu(self):
        node = self.node
        node.start()
        folder = os.path.join(node.base, "samples")
        os.mkdir(folder)
        for number in range(NEIGHBOURS):
            node.create(pod(f"neighbour-{number}",
                            [f"{PROGRAMS}/neighbour", folder, "--interval", "10000",
                             "--capacity", str(1 << 20)]))
        for number in range(NEIGHBOURS):
            node.running(f"neighbour-{number}")
        for grant in range(GRANTS):
            holder = [f"{PROGRAMS}/holder", folder, "--milliseconds", "500"]
            if grant % 2 == 0:
                run = node.run("--cpus", "1", "--", *holder)
                _, err = run.communicate(timeout=300)
                self.assertEqual(run.returncode, 0, err)
            else:
                node.create(pod(f"holder-{grant}", holder, cpus=1, restartPolicy="Never"))
                eventually(lambda g=grant: node.pod(f"holder-{g}")["status"]["phase"]
                           == "Succeeded", "the holder has ended")
            time.sleep(0.3)  # they have the CPU to themselves again
        eventually(lambda: self.judge(1).get("samples", 0) >= ENOUGH, "a million samples", 300)
        counts = self.judge(ENOUGH)
        print(json.dumps(counts), flush=True)
        self.assertGreaterEqual(counts["samples"], ENOUGH)
        self.assertEqual(counts["grants"], GRANTS)
        if MUST_LEAK:
            self.assertGreater(counts["leaks"], 0, "the mutant was not caught")
            self.assertEqual(self.code, 1)
        else:
            self.assertEqual(counts["leaks"], 0)
            self.assertEqual(self.code, 0)

    def judge(self, at_least):
        done = subprocess.run([f"{PROGRAMS}/judge", os.path.join(self.node.base, "samples"),
                               "--at-least", str(at_least)],
                              capture_output=True, text=True, timeout=300, check=False)
        self.code = done.returncode
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
