#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody of the machine runs on a granted CPU: spinning processes that Corehold has not started.

    outside_test.py PROGRAMS [--must-leak]

One spins, one is pinned to the CPU that is granted, one forks all the time. Each writes down the
clock and then its CPU, over and over; each holder of an exclusive CPU writes down the clock as its
first act. The judge counts samples that are later than a grant and on a CPU of it. Afterwards all
of the machine is as it was. With --must-leak the node keeps only containers apart, and the test
passes only if the judge catches that.
"""
import json
import os
import subprocess
import sys
import unittest

from node import CONFIG, Node, NodeTest, eventually, online_cpus, pod, require_machine, status_field

MUST_LEAK = "--must-leak" in sys.argv
if MUST_LEAK:
    sys.argv.remove("--must-leak")
PROGRAMS = sys.argv.pop()
GRANTS = 6
ENOUGH = 1_000_000
LEVEL = "containers" if MUST_LEAK else "fence"
SYSTEM_CPUSET = "/sys/fs/cgroup/cpuset/corehold-system"


def place_of(pid):
    """Where the kernel lets a process run, and its cpuset."""
    try:
        with open(f"/proc/{pid}/cpuset", encoding="ascii") as file:
            return status_field(pid, "Cpus_allowed_list"), file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None


class Outsiders(NodeTest):
    def setUp(self):
        require_machine()
        self.node = Node(reconcile=self.reconcile,
                         config=CONFIG + f"isolation:\n  level: {LEVEL}\n")
        self.addCleanup(self.leave)
        self.folder = os.path.join(self.node.base, "samples")
        os.mkdir(self.folder)
        self.outsiders = []
        self.addCleanup(self.end_outsiders)

    def end_outsiders(self):
        for process in self.outsiders:
            process.kill()
            process.wait()

    def spin(self, *options, pinned=None):
        process = subprocess.Popen(
            [f"{PROGRAMS}/neighbour", self.folder, "--interval", "10000",
             "--capacity", str(1 << 20), *options],
            preexec_fn=(lambda: os.sched_setaffinity(0, pinned)) if pinned else None)
        self.outsiders.append(process)
        return process

    def test_never_run_on_a_granted_cpu_and_are_as_before(self):
        node = self.node
        granted = max(online_cpus())
        self.spin()
        pinned = self.spin(pinned={granted})
        self.spin("--fork-every", "20000000")
        node.start()
        watched = [1, os.getpid(), node.process.pid] + [each.pid for each in self.outsiders]
        before = {pid: place_of(pid) for pid in watched}
        for grant in range(GRANTS):
            holder = [f"{PROGRAMS}/holder", self.folder, "--milliseconds", "500"]
            if grant % 2 == 0:
                run = node.run("--cpus", "1", "-v", "--", *holder)
                _, err = run.communicate(timeout=300)
                self.assertEqual(run.returncode, 0, err)
                self.assertEqual("only other containers" in err, MUST_LEAK, err)
            else:
                node.create(pod(f"holder-{grant}", holder, cpus=1, restartPolicy="Never"))
                eventually(lambda g=grant: node.pod(f"holder-{g}")["status"]["phase"]
                           == "Succeeded", "the holder has ended")
        eventually(lambda: self.judge(1).get("samples", 0) >= ENOUGH, "a million samples", 300)
        eventually(lambda: not os.path.exists(SYSTEM_CPUSET), "the fence is open")
        counts = self.judge(ENOUGH)
        print(json.dumps(counts), flush=True)
        self.assertGreaterEqual(counts["samples"], ENOUGH)
        self.assertEqual(counts["grants"], GRANTS)
        self.assertEqual({pid: place_of(pid) for pid in watched}, before)
        if MUST_LEAK:
            self.assertGreater(counts["leaks"], 0, "the node without a fence was not caught")
            return
        self.assertEqual(counts["leaks"], 0)
        told = [event["message"] for event in node.events("TasksDisplaced")]
        self.assertTrue(any(f"task {pinned.pid} " in text for text in told), told)
        self.assertIn("CpusExclusive", self.conditions())
        self.assertEqual(self.conditions()["CpusExclusive"]["status"], "True")

    def test_stay_away_while_the_agent_is_down_until_they_are_released(self):
        if MUST_LEAK:
            self.skipTest("there is no fence")
        node = self.node
        spinner = self.spin()
        node.start()
        free = place_of(spinner.pid)
        node.create(pod("holder", ["sleep", "1000"], cpus=1))
        node.running("holder")
        fenced = place_of(spinner.pid)
        self.assertNotIn(max(online_cpus()), os.sched_getaffinity(spinner.pid))
        with self.assertRaises(OSError):
            os.sched_setaffinity(spinner.pid, {max(online_cpus())})
        code, _, err = node.isolation("release")
        self.assertEqual(code, 1)
        self.assertIn("an agent runs here", err)
        node.kill()
        self.assertEqual(place_of(spinner.pid), fenced)
        code, out, _ = node.isolation("show", "-o", "json")
        self.assertEqual(code, 0)
        shown = json.loads(out)
        self.assertEqual(shown["held"], str(max(online_cpus())))
        self.assertEqual({entry["stands"] for entry in shown["changed"]}, {"yes"})
        code, out, err = node.isolation("release")
        self.assertEqual(code, 0, err)
        self.assertEqual(place_of(spinner.pid), free)
        node.start()
        eventually(lambda: place_of(spinner.pid) == fenced, "the next agent keeps it away again")
        node.delete("holder", grace=0)
        node.gone("holder")
        eventually(lambda: place_of(spinner.pid) == free, "the fence is open")

    def conditions(self):
        node = self.node.call("GET", "/api/v1/nodes")["items"][0]
        return {each["type"]: each for each in node["status"]["conditions"]}

    def judge(self, at_least):
        done = subprocess.run([f"{PROGRAMS}/judge", self.folder, "--at-least", str(at_least)],
                              capture_output=True, text=True, timeout=300, check=False)
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
