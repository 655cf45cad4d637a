#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks outside Corehold never run on a CPU that a container holds, on this machine.

    fence_leak_test.py PROGRAMS [--must-leak]

A program that spins, one that starts others all the time, one that pins itself again and again to the CPU that is
granted, and one that tries to be anywhere: all of them in the cgroups of this test itself. With
--must-leak only containers are kept apart, and the test passes only if the judge catches it.
"""
import json
import os
import subprocess
import sys
import unittest

from node import NodeTest, allowed_cpus, eventually, online_cpus, parse_cpus, pod

MUST_LEAK = "--must-leak" in sys.argv
if MUST_LEAK:
    sys.argv.remove("--must-leak")
PROGRAMS = os.path.abspath(sys.argv.pop())
SAMPLES = int(os.environ.get("COREHOLD_SAMPLES", "1000000"))  # of each kind, while a CPU is held
GRANTS = int(os.environ.get("COREHOLD_GRANTS", "50"))
HOLD = 1500  # milliseconds
MOST_ROUNDS = 200
SAMPLING = ["--interval", "1000", "--capacity", str(1 << 25), "--burst", "3000000", "--rest", "1000000"]
KINDS = {
    "service": ["--hop"],
    "session": [],
    "forker": ["--fork-every", "5000000"],
    "pinned": ["--pin", "{cpu}"],
}
ISOLATION = "isolation:\n  level: {level}\n  minSystemCPUs: 1\n"


class Others(NodeTest):
    def setUp(self):
        super().setUp()
        level = "containers" if MUST_LEAK else "fence"
        if not os.environ.get("COREHOLD_WITHOUT_ISOLATION"):
            with open(self.node.config, "a", encoding="utf-8") as file:
                file.write(ISOLATION.format(level=level))
        self.folder = os.path.join(self.node.base, "samples")
        os.mkdir(self.folder)
        self.others = {}

    def begin(self, name, *words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        self.others[name] = process
        self.addCleanup(self.end, name)
        return process

    def end(self, name):
        process = self.others.pop(name, None)
        if process is not None:
            os.killpg(process.pid, 9)
            process.wait()

    def hold(self, number):
        """A grant, by turns of a command and of a pod."""
        holder = [f"{PROGRAMS}/holder", self.folder, "--milliseconds", str(HOLD)]
        if number % 2 == 0:
            run = self.node.run("--cpus", "1", "--", *holder)
            out, err = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, err)
            return out
        name = f"holder-{number}"
        self.node.create(pod(name, holder, cpus=1, restartPolicy="Never"))
        eventually(lambda: self.node.pod(name)["status"]["phase"] in ("Succeeded", "Failed"),
                   f"{name} has ended")
        self.assertEqual(self.node.pod(name)["status"]["phase"], "Succeeded")
        self.node.delete(name)
        self.node.gone(name)
        return ""

    def judge(self, *options):
        done = subprocess.run([f"{PROGRAMS}/judge", self.folder, "--at-least", "1", *options],
                              capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, json.loads(done.stdout)

    def back(self):
        return all(self.judge()[1]["kinds"][kind]["back"] for kind in ("service", "pinned"))

    def sample(self):
        """Grants until each kind was looked at often enough, or a leak is found."""
        granted = self.hold(0).split()[2]
        for kind, words in KINDS.items():
            self.begin(kind, f"{PROGRAMS}/neighbour", self.folder, "--kind", kind, *SAMPLING,
                       *(word.format(cpu=granted) for word in words))
        for number in range(1, MOST_ROUNDS):
            self.hold(number)
            verdict, counts = self.judge("--each", str(SAMPLES))
            if verdict != 2:
                break
        if verdict == 0:
            eventually(self.back, "others are on the CPU again")
        for kind in KINDS:
            self.end(kind)
        verdict, counts = self.judge("--each", str(SAMPLES))
        print(json.dumps(counts), flush=True)
        return verdict, counts

    def test_others_are_never_on_a_held_cpu(self):
        self.node.start()
        sleeper = self.begin("sleeper", "sleep", "100000")
        before = allowed_cpus(sleeper.pid)
        verdict, counts = self.sample()
        self.assertEqual(sorted(counts["kinds"]), sorted(KINDS))
        if MUST_LEAK:
            self.assertEqual(verdict, 1, counts)
            self.assertGreater(counts["leaks"], 0)
            return
        self.assertEqual(verdict, 0, counts)
        for kind, found in counts["kinds"].items():
            self.assertEqual(found["leaks"], 0, kind)
            self.assertGreaterEqual(found["during"], SAMPLES, kind)
        self.assertEqual(counts["lost"], 0)
        self.assertEqual(allowed_cpus(sleeper.pid), before)
        self.assertEqual(self.node.stop(), 0)
        code, _, err = self.node.command("isolation", "release")
        self.assertEqual(code, 0, err)
        self.assertEqual(allowed_cpus(sleeper.pid), before)
        with open(f"/proc/{sleeper.pid}/cpuset", encoding="ascii") as file:
            self.assertNotIn("corehold", file.read())
        self.node.start()

    @unittest.skipIf(MUST_LEAK, "nothing is moved")
    def test_pins_of_others_are_as_before_after_many_grants(self):
        self.node.start()
        cpus = sorted(online_cpus())
        pins = {"both": set(cpus), "first": {cpus[0]}, "last": {cpus[-1]}}
        for name, pin in pins.items():
            self.begin(name, "sleep", "100000")
            os.sched_setaffinity(self.others[name].pid, pin)
        for number in range(GRANTS):
            words = " ".join(f"/proc/{process.pid}/status" for process in self.others.values())
            run = self.node.run("--cpus", "1", "--", "sh", "-c",
                                f"grep -h Cpus_allowed_list /proc/self/status {words}")
            out, err = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, err)
            held, *found = [parse_cpus(line.split()[1]) for line in out.splitlines()]
            for (name, pin), seen in zip(pins.items(), found):
                self.assertFalse(seen & held, (number, name))
                self.assertTrue(seen, (number, name))
                if pin - held:
                    self.assertEqual(seen, pin - held, (number, name))
            for name, pin in pins.items():
                eventually(lambda n=name, p=pin: allowed_cpus(self.others[n].pid) == p,
                           f"{name} is pinned as before after grant {number}")
        print(f"{GRANTS} grants, {len(pins)} pins: each is as it was", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
