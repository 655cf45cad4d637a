#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks outside Corehold never run on a CPU that a container holds, on this machine.

    fence_leak_test.py [--must-leak] [--short] PROGRAMS

A program that spins, one that starts others all the time, one that pins itself again and again to the CPU that is
granted, one that tries to be anywhere, all of them in the cgroups of this test itself, and one that is put into the
root of cpusets. With --must-leak only containers are kept apart, and the test passes only if the judge catches it.
--short is for a first look: fewer samples, fewer grants.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

from node import (NodeTest, allowed_cpus, eventually, online_cpus, parse_cpus, pod, status_field)


def take_option(name):
    """Whether it is given; unittest does not see it."""
    is_given = name in sys.argv
    if is_given:
        sys.argv.remove(name)
    return is_given


MUST_LEAK = take_option("--must-leak")
SHORT = take_option("--short")
PROGRAMS = os.path.abspath(sys.argv.pop())
# Of each kind, while a CPU is held.
SAMPLES = int(os.environ.get("COREHOLD_SAMPLES", "50000" if SHORT else "1000000"))
GRANTS = int(os.environ.get("COREHOLD_GRANTS", "5" if SHORT else "50"))
HOLD = 1500  # milliseconds
MOST_ROUNDS = 200
SAMPLING = ["--interval", "1000", "--capacity", str(1 << 25), "--burst", "3000000", "--rest", "1000000"]
KINDS = {
    "service": ["--hop"],
    "session": [],
    "forker": ["--fork-every", "5000000"],
    "pinned": ["--pin", "{cpu}"],
    "root": [],
}
ROOT_CGROUPS = ("/sys/fs/cgroup/cpuset", "/sys/fs/cgroup")  # v1, v2
ISOLATION = "isolation:\n  level: {level}\n  minSystemCPUs: 1\n"


def put_into_root(pid):
    """Into the root of cpusets, wherever it was."""
    root = next(path for path in ROOT_CGROUPS if os.path.exists(f"{path}/cgroup.procs"))
    with open(f"{root}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(pid))


def memory_policies(pid):
    """Of all mappings of a process: {"bind:0"}."""
    with open(f"/proc/{pid}/numa_maps", encoding="ascii", errors="replace") as file:
        return {line.split()[1] for line in file}


def why_no_numactl():
    """Why a memory policy cannot be had here; "": it can."""
    if shutil.which("numactl") is None:
        return "numactl is not installed"
    tried = subprocess.run(["numactl", "--membind=0", "true"], capture_output=True, text=True,
                           check=False)
    return "" if tried.returncode == 0 else f"numactl: {tried.stderr.strip()}"


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
            process = self.begin(kind, f"{PROGRAMS}/neighbour", self.folder, "--kind", kind, *SAMPLING,
                                 *(word.format(cpu=granted) for word in words))
            if kind == "root":
                put_into_root(process.pid)
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

    def begin_pinned(self, name, pin, *words):
        """A task that somebody else has pinned: with the affinity, and no program before it."""
        pid = self.begin(name, *words, "sleep", "100000").pid
        eventually(lambda: status_field(pid, "Name") == "sleep" and allowed_cpus(pid) == pin,
                   f"{name} is pinned")

    def begin_pins(self):
        """By taskset, and with a memory policy by numactl where there is one; what each is pinned to."""
        cpus = sorted(online_cpus())
        pins = {"both": set(cpus), "first": {cpus[0]}, "last": {cpus[-1]}}
        for name, pin in pins.items():
            self.begin_pinned(name, pin, "taskset", "-c", ",".join(map(str, sorted(pin))))
        missing = why_no_numactl()
        if missing:
            print(f"without memory policies: {missing}", flush=True)
            return pins
        pins |= {"bound": {cpus[0]}, "displaced": {cpus[-1]}}
        for name in ("bound", "displaced"):
            (cpu,) = pins[name]
            self.begin_pinned(name, pins[name], "numactl", f"--physcpubind={cpu}", "--membind=0")
        return pins

    def check_within_grant(self, pins, number):
        """Each has what of its pin is allowed, by what the holder sees; those without any of it."""
        files = " ".join(f"/proc/{self.others[name].pid}/status" for name in pins)
        run = self.node.run("--cpus", "1", "--", "sh", "-c",
                            f"grep -h Cpus_allowed_list /proc/self/status {files}")
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 0, err)
        held, *found = [parse_cpus(line.split()[1]) for line in out.splitlines()]
        self.assertEqual(len(found), len(pins))
        for (name, pin), seen in zip(pins.items(), found):
            self.assertFalse(seen & held, (number, name))
            self.assertTrue(seen, (number, name))
            if pin - held:
                self.assertEqual(seen, pin - held, (number, name))
        return {name for name, pin in pins.items() if not pin - held}

    @unittest.skipIf(MUST_LEAK, "nothing is moved")
    def test_pins_of_others_are_as_before_after_many_grants(self):
        self.node.start()
        pins = self.begin_pins()
        pids = {name: self.others[name].pid for name in pins}
        has_policies = os.path.exists("/proc/self/numa_maps")
        policies = {name: memory_policies(pid) for name, pid in pids.items()} if has_policies else {}
        nodes = {name: status_field(pid, "Mems_allowed_list") for name, pid in pids.items()}
        if "bound" in pins:
            self.assertIn("bind:0", policies["bound"])
        displaced = set()
        for number in range(GRANTS):
            displaced |= self.check_within_grant(pins, number)
            for name, pin in pins.items():
                eventually(lambda p=pids[name], c=pin: allowed_cpus(p) == c,
                           f"{name} is pinned as before after grant {number}")
                if has_policies:
                    self.assertEqual(memory_policies(pids[name]), policies[name], (number, name))
                self.assertEqual(status_field(pids[name], "Mems_allowed_list"), nodes[name], name)
        told = " ".join(event["message"] for event in self.node.events("TasksDisplaced"))
        for name in displaced:
            (cpu,) = pins[name]
            self.assertIn(f"task {pids[name]} (sleep), pinned to CPUs {cpu}", told)
        print(f"{GRANTS} grants, {len(pins)} pins: each is as it was; {sorted(displaced)} had none of"
              " their CPUs in between, and were named", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
