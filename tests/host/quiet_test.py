#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `corehold quiet` says, beside what this test reads in /proc itself.

The test looks before and after the command looks twice: whatever the command counts must lie
between, and what did not change meanwhile must be as the test sees it.
"""
import json
import os
import signal
import subprocess
import unittest

from node import BINARY, DEADLINE, NodeTest, eventually, online_cpus, parse_cpus

KERNEL_THREAD = 0x00200000
BOUND = 0x04000000
NO_AGENT = "/nonexistent/corehold"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class Task:
    """One thread, as its files say."""

    def __init__(self, directory):
        stat = read(f"{directory}/stat")
        fields = stat.rsplit(")", 1)[1].split()
        if fields[0] in "ZX":
            raise FileNotFoundError(directory)
        self.tid = int(stat.split(" ", 1)[0])
        self.name = stat[stat.index("(") + 1:stat.rindex(")")]
        self.flags = int(fields[6])
        self.start = int(fields[19])
        self.run = int(read(f"{directory}/schedstat").split()[0])
        for line in read(f"{directory}/status").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                self.cpus = parse_cpus(line.split(":", 1)[1])

    def kind(self):
        if not self.flags & KERNEL_THREAD:
            return {"task"}
        if self.flags & BOUND:
            return {"boundThread"} if len(self.cpus) == 1 else {"workqueue"}
        return {"kernelThread", "interruptThread"}


def all_tasks():
    """By thread and start, which together name one for good."""
    tasks = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for tid in os.listdir(f"/proc/{pid}/task"):
                try:
                    task = Task(f"/proc/{pid}/task/{tid}")
                    tasks[task.tid, task.start] = task
                except (FileNotFoundError, ProcessLookupError):
                    pass
        except (FileNotFoundError, ProcessLookupError):
            pass
    return tasks


def counts(path, cpu):
    """By label, of a table with a column for each CPU."""
    lines = read(path).splitlines()
    column = lines[0].split().index(f"CPU{cpu}")
    found = {}
    for line in lines[1:]:
        label, *words = line.split()
        if column < len(words) and words[column].isdigit():
            found[label.rstrip(":")] = int(words[column])
    return found


class Look:
    def __init__(self, cpu):
        self.tasks = all_tasks()
        self.interrupts = counts("/proc/interrupts", cpu)
        self.softirqs = counts("/proc/softirqs", cpu)


def quiet(*arguments):
    done = subprocess.run([BINARY, "quiet", *arguments, "-o", "json"], capture_output=True,
                          text=True, timeout=DEADLINE, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Spinner:
    """A process that is busy on one CPU and nowhere else."""

    def __init__(self, cpu):
        self.process = subprocess.Popen(
            ["python3", "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"])
        eventually(lambda: os.sched_getaffinity(self.process.pid) == {cpu}, "the spinner is pinned")

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class WithoutAnAgent(unittest.TestCase):
    def setUp(self):
        self.cpu = max(online_cpus())
        self.spinner = Spinner(self.cpu)
        self.addCleanup(self.spinner.end)

    def test_agrees_with_what_proc_says(self):
        before = Look(self.cpu)
        report = quiet(str(self.cpu), "--seconds", "1", "--root", NO_AGENT)
        after = Look(self.cpu)
        self.assertEqual([row["cpu"] for row in report["cpus"]], [self.cpu])
        self.check_who_may_run(report, before, after)
        self.check_who_did(report, before, after)

    def check_who_may_run(self, report, before, after):
        row = report["cpus"][0]
        told = {task["tid"]: task for task in report["tasks"]
                if self.cpu in parse_cpus(task["cpus"])}
        stable = {key: task for key, task in after.tasks.items()
                  if key in before.tasks and before.tasks[key].cpus == task.cpus}
        self.assertGreater(len(stable), 10)
        for (tid, _), task in stable.items():
            if self.cpu not in task.cpus:
                self.assertNotIn(tid, told, task.name)
                continue
            self.assertIn(tid, told, task.name)
            self.assertIn(told[tid]["kind"], task.kind(), task.name)
        # The counts are those of the list.
        kinds = [task["kind"] for task in told.values()]
        self.assertEqual(row["mayRun"]["tasks"], kinds.count("task"))
        self.assertEqual(row["mayRun"]["boundThreads"], kinds.count("boundThread"))
        self.assertEqual(row["mayRun"]["kernelThreads"],
                         len(kinds) - kinds.count("task") - kinds.count("boundThread"))
        self.assertEqual(told[self.spinner.process.pid]["removedBy"], "level fence")
        interrupts = set()
        for number in filter(str.isdigit, os.listdir("/proc/irq")):
            used = any(os.path.isdir(f"/proc/irq/{number}/{name}")
                       for name in os.listdir(f"/proc/irq/{number}"))
            allowed = parse_cpus(read(f"/proc/irq/{number}/smp_affinity_list"))
            if used and self.cpu in allowed:
                interrupts.add(int(number))
        self.assertEqual({row["number"] for row in report["interrupts"]}, interrupts)

    def check_who_did(self, report, before, after):
        row = report["cpus"][0]
        for told, first, last in ((row["interrupts"], before.interrupts, after.interrupts),
                                  (row["softirqs"], before.softirqs, after.softirqs)):
            for counted in told:
                label = counted["label"]
                self.assertGreater(counted["count"], 0)
                self.assertLessEqual(first[label], counted["total"] - counted["count"], label)
                self.assertLessEqual(counted["total"], last[label], label)
        # What the command does not list has not come between its two looks.
        listed = {counted["label"] for counted in row["interrupts"]}
        self.assertIn("LOC", listed)
        tasks = {task["tid"]: task for task in report["tasks"]}
        ran = {task["tid"] for task in row["ran"]}
        for (tid, _), task in after.tasks.items():
            if tid not in ran:
                continue
            was = next((old.run for (other, _), old in before.tasks.items() if other == tid), 0)
            self.assertLessEqual(was, tasks[tid]["totalNanoseconds"] - tasks[tid]["ranNanoseconds"])
            self.assertLessEqual(tasks[tid]["totalNanoseconds"], task.run)
        spinner = self.spinner.process.pid
        self.assertIn(spinner, ran)
        self.assertEqual(tasks[spinner]["lastCpu"], self.cpu)
        self.assertGreater(tasks[spinner]["ranNanoseconds"], 0)

    def test_shows_all_cpus_when_nothing_is_said(self):
        report = quiet("--seconds", "0", "--root", NO_AGENT)
        self.assertEqual({row["cpu"] for row in report["cpus"]}, online_cpus())

    def test_refuses_a_cpu_that_is_not_there(self):
        done = subprocess.run([BINARY, "quiet", "4000", "--root", NO_AGENT], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("corehold: CPUs 4000 are not online; online: ", done.stderr)


class ForeignCpuset:
    """A cpuset (cgroup v1) that somebody else has made, of one CPU."""

    TOP = "/sys/fs/cgroup/cpuset"

    def __init__(self, cpu):
        self.path = f"{self.TOP}/quiet-test-{os.getpid()}"
        os.mkdir(self.path)
        for name, value in (("cpuset.cpus", str(cpu)),
                            ("cpuset.mems", read(f"{self.TOP}/cpuset.mems"))):
            with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
                file.write(value)

    def take(self, pid):
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(pid))

    def remove(self):
        os.rmdir(self.path)


class WithAnAgent(NodeTest):
    def held(self):
        """A command on a CPU of its own: who holds it, and which."""
        self.node.start()
        run = self.node.run("--cpus", "1", "--", "sh", "-c", "while :; do :; done")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        eventually(lambda: self.node.cpus()["containers"], "the run holds a CPU")
        holder = self.node.cpus()["containers"][0]
        return holder, min(parse_cpus(holder["assigned"]))

    def foreign_tasks(self, cpu):
        """What the metric says; None: nothing."""
        for line in self.node.call("GET", "/metrics", raw=True).splitlines():
            name, _, value = line.rpartition(" ")
            if name == f'corehold_foreign_tasks{{cpu="{cpu}"}}':
                return float(value)
        return None

    def test_names_and_counts_a_task_of_others_on_a_held_cpu(self):
        if not os.path.isdir(ForeignCpuset.TOP):
            self.skipTest("cgroup v1 has no cpuset here")
        _, cpu = self.held()
        eventually(lambda: self.foreign_tasks(cpu) is not None, "the CPU is watched")
        cpuset = ForeignCpuset(cpu)
        self.addCleanup(cpuset.remove)
        spinner = subprocess.Popen(["python3", "-c", "input()\nwhile True: pass"],
                                   stdin=subprocess.PIPE)
        self.addCleanup(spinner.wait)
        self.addCleanup(spinner.kill)
        cpuset.take(spinner.pid)
        spinner.stdin.write(b"go\n")
        spinner.stdin.close()
        # Without a fence others of the machine may run there too.
        eventually(lambda: self.foreign_tasks(cpu) >= 1, "a task of others is counted")
        report = quiet("--seconds", "1", "--root", self.node.root)
        told = {task["tid"]: task for task in report["tasks"]}
        self.assertEqual(told[spinner.pid]["cgroup"], f"/{os.path.basename(cpuset.path)}")
        self.assertIn(spinner.pid, {task["tid"] for task in report["cpus"][0]["ran"]})

    def test_leaves_out_the_holder_and_names_the_others(self):
        holder, cpu = self.held()
        own = eventually(lambda: self.node.pids(holder["uid"], holder["container"]), "it runs")
        report = quiet("--seconds", "1", "--root", self.node.root)
        self.assertEqual([row["cpu"] for row in report["cpus"]], [cpu])
        row = report["cpus"][0]
        self.assertEqual(row["heldBy"],
                         f"{holder['namespace']}/{holder['pod']} {holder['container']}")
        told = {task["tid"] for task in report["tasks"]}
        self.assertFalse(told & set(own))
        named = quiet("pod", f"{holder['namespace']}/{holder['pod']}", "--seconds", "0", "--root",
                      self.node.root)
        self.assertEqual([row["cpu"] for row in named["cpus"]], [cpu])


class Jitter(unittest.TestCase):
    def test_counts_all_the_time(self):
        done = subprocess.run([BINARY, "jitter", "--cpu", str(max(online_cpus())), "--seconds", "1",
                               "--threshold-us", "0", "-o", "json"], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["pauses"], told["rounds"])
        self.assertEqual(told["lostNanoseconds"], round(told["watchedSeconds"] * 1e9))
        self.assertEqual(sum(row["count"] for row in told["histogram"]), told["pauses"])
        self.assertLessEqual(told["p50Nanoseconds"], told["p99Nanoseconds"])
        self.assertLessEqual(told["p999Nanoseconds"], told["maxNanoseconds"])

    def test_says_which_cpus_there_are(self):
        done = subprocess.run([BINARY, "jitter", "--cpu", "4000"], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("corehold: CPU 4000 is not online; online: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
