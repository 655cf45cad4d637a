#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader proof finds every broken promise, and finds none where all are kept.

    reader_test.py FOLDER_OF_THE_PROGRAMS

Here the test is the node: it writes the file and takes the CPUs, right and wrong.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = sys.argv.pop()
CPUS = sorted(os.sched_getaffinity(0))
BOTH = ",".join(map(str, CPUS[:2])) if CPUS[1:2] != [CPUS[0] + 1] else f"{CPUS[0]}-{CPUS[0] + 1}"
ONE = str(CPUS[0])
DELAY = 0.5
NEVER = 100_000  # seconds; a delay that does not pass
DEADLINE = 300  # seconds; nothing here takes long unless it hangs


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class TheJudge(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(self.folder.cleanup)
        self.versions = 0
        self.readers = {}

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def tell(self, text, name="file"):
        """Another version in its place. Those before stay, so that no inode comes twice."""
        self.versions += 1
        version = self.path(f"version-{self.versions}")
        with open(version, "w", encoding="ascii") as file:
            file.write(text)
        link = self.path(f"link-{self.versions}")
        os.symlink(version, link)
        os.rename(link, self.path(name))

    def start(self, name="a", file="file", delay=DELAY):
        words = [self.folder.name, name, self.path(file), "--delay", str(int(delay * 1000)), "--pause", "1000"]
        process = subprocess.Popen([f"{PROGRAMS}/reader", *words])
        self.readers[name] = process
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.allow(CPUS[:2], name)
        self.see(name)
        return process

    def allow(self, cpus, name="a"):
        """All its threads, as a cpuset does."""
        pid = self.readers[name].pid
        deadline = time.monotonic() + DEADLINE
        while len(os.listdir(f"/proc/{pid}/task")) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), cpus)

    def judge(self, at_least=0):
        done = subprocess.run(
            [f"{PROGRAMS}/told_judge", self.folder.name, "--at-least", str(at_least)],
            capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    def see(self, name="a"):
        """Until the reader has looked at both some more often."""
        counts = self.judge()[1]
        deadline = time.monotonic() + DEADLINE
        while True:
            now = self.judge()[1]
            if now["reads"] >= counts["reads"] + 20 and now["looks"] >= counts["looks"] + 20:
                return
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(self.readers[name].poll())
            time.sleep(0.01)

    def shrink(self, wait):
        self.tell(BOTH)
        self.start()
        self.tell(ONE)
        self.see()
        time.sleep(wait)
        self.allow(CPUS[:1])
        self.see()

    def test_is_content_when_cpus_go_after_the_delay(self):
        self.shrink(DELAY)
        verdict, counts = self.judge()
        self.assertEqual(verdict, 0, counts)
        self.assertEqual((counts["versions"], counts["shrunk"]), (2, 1))
        self.assertGreaterEqual(counts["soonest_us"], 0)
        self.assertEqual(self.judge(at_least=2)[0], 2, "one shrink is not two")

    def test_is_content_with_growth_that_is_told_afterwards(self):
        self.tell(ONE)
        self.start()
        self.tell(BOTH)
        self.see()
        verdict, counts = self.judge()
        self.assertEqual((verdict, counts["grown"]), (0, 1), counts)

    def test_finds_cpus_that_go_within_the_delay(self):
        self.tell(BOTH)
        self.start(delay=NEVER)
        self.tell(ONE)
        self.see()
        self.allow(CPUS[:1])
        self.see()
        verdict, counts = self.judge()
        self.assertEqual(verdict, 1, counts)
        self.assertGreater(counts["taken_early"], 0)
        self.assertLess(counts["soonest_us"], 0)

    def test_finds_a_listed_cpu_that_may_not_be_used(self):
        self.tell(ONE)
        self.start(delay=0)
        self.allow(CPUS[:1])
        self.see()
        self.tell(BOTH)
        self.see()
        verdict, counts = self.judge()
        self.assertEqual(verdict, 1, counts)
        self.assertGreater(counts["taken_early"], 0)

    def test_finds_an_empty_a_broken_and_a_missing_file(self):
        self.tell(BOTH)
        self.start()
        for text, count in (("", "empty"), ("0-", "broken"), ("0,0", "broken"), ("0\n", "broken")):
            before = self.judge()[1][count]
            self.tell(text)
            self.see()
            verdict, counts = self.judge()
            self.assertEqual(verdict, 1, counts)
            self.assertGreater(counts[count], before)
        os.unlink(self.path("file"))
        self.see()
        self.assertGreater(self.judge()[1]["missing"], 0)

    def test_finds_a_file_that_is_written_in_place(self):
        self.tell(BOTH)
        self.start()
        with open(self.path("version-1"), "r+", encoding="ascii") as file:
            file.write(ONE)
            file.truncate()
        self.see()
        verdict, counts = self.judge()
        self.assertEqual(verdict, 1, counts)
        self.assertGreater(counts["broken"], 0)

    def test_finds_a_cpu_of_two_containers(self):
        self.tell(ONE, "one")
        self.tell(ONE, "two")
        self.start("a", "one", delay=NEVER)
        self.start("b", "two", delay=NEVER)
        self.see("b")
        verdict, counts = self.judge()
        self.assertEqual(verdict, 1, counts)
        self.assertGreater(counts["shared"], 0)
        self.assertEqual(counts["taken_early"], 0)

    def test_is_not_content_with_looks_that_were_lost(self):
        self.tell(BOTH)
        words = [self.folder.name, "a", self.path("file"), "--capacity", "10", "--pause", "100"]
        process = subprocess.Popen([f"{PROGRAMS}/reader", *words])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + DEADLINE
        while not os.path.exists(self.path("allowed.a")) or self.judge()[1]["lost"] == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(self.judge()[0], 2)


if __name__ == "__main__":
    unittest.main()
