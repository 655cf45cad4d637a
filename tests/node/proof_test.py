#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The leak proof finds a leak, and finds none where there is none.

    proof_test.py FOLDER_OF_THE_PROGRAMS
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = sys.argv.pop()
DEADLINE = 300  # seconds; nothing here takes long unless it hangs
CPUS = sorted(os.sched_getaffinity(0))


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class TheJudge(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, program, *words, cpus):
        process = subprocess.Popen(
            [f"{PROGRAMS}/{program}", self.folder.name, *words],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def samples(self):
        return subprocess.run(
            [f"{PROGRAMS}/judge", self.folder.name, "--at-least", "100"],
            capture_output=True,
            text=True,
        )

    def counts(self):
        return json.loads(self.samples().stdout)

    def wait_for(self, condition):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def neighbour_that_was_on_both(self, *words):
        """It starts on the CPU that will be granted, so that it surely was there."""
        process = self.start("neighbour", "--interval", "10000", *words, cpus=CPUS[1:2])
        self.wait_for(lambda: self.counts()["samples"] >= 100)
        return process

    def hold(self, milliseconds):
        holder = self.start("holder", "--milliseconds", str(milliseconds), cpus=CPUS[1:2])
        said = holder.stdout.readline().split()
        self.assertEqual((said[0], said[2]), ("granted", str(CPUS[1])))
        self.assertEqual(holder.wait(timeout=DEADLINE), 0)

    def hold_until(self, condition):
        """Grants the CPU until the neighbour has come to a sample that matters; the last verdict."""
        deadline = time.monotonic() + DEADLINE
        while True:
            self.hold(200)
            verdict = self.samples()
            if condition(verdict):
                return verdict
            self.assertLess(time.monotonic(), deadline, verdict.stdout + verdict.stderr)

    def test_finds_no_leak_where_the_neighbour_has_left_before(self):
        neighbour = self.neighbour_that_was_on_both()
        os.sched_setaffinity(neighbour.pid, CPUS[0:1])
        verdict = self.hold_until(lambda v: json.loads(v.stdout)["during"] > 0)
        self.assertEqual(verdict.returncode, 0, verdict.stdout + verdict.stderr)

    def test_finds_the_leak_of_a_neighbour_that_stays(self):
        self.neighbour_that_was_on_both()
        verdict = self.hold_until(lambda v: v.returncode == 1)
        self.assertIn(f"on CPU {CPUS[1]}", verdict.stderr)

    def test_finds_the_leak_of_a_child_of_a_neighbour(self):
        self.neighbour_that_was_on_both("--fork-every", "1000000")
        self.hold_until(lambda v: v.returncode == 1)

    def test_finds_the_leak_of_a_thread_of_a_neighbour(self):
        self.neighbour_that_was_on_both("--spinners", "2", "--threads")
        self.wait_for(lambda: self.counts()["neighbours"] == 2)
        self.hold_until(lambda v: v.returncode == 1)

    def test_is_not_content_with_too_little(self):
        neighbour = self.neighbour_that_was_on_both()
        os.sched_setaffinity(neighbour.pid, CPUS[0:1])
        self.assertEqual(self.samples().returncode, 2, "no grant")

    def test_is_not_content_with_samples_that_were_lost(self):
        neighbour = self.neighbour_that_was_on_both("--capacity", "200")
        os.sched_setaffinity(neighbour.pid, CPUS[0:1])
        self.wait_for(lambda: self.counts()["lost"] > 0)
        self.hold(50)
        self.assertEqual(self.samples().returncode, 2)


if __name__ == "__main__":
    unittest.main()
