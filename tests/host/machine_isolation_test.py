#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level full on the real kernel: interrupts and the kernel are off held CPUs, and everything is as
it was in the end, whatever happens to the agent."""
import glob
import json
import os
import unittest

from node import NodeTest, eventually, parse_cpus

SLEEP = ["sleep", "1000"]
NO_SETAFFINITY = 0x04000000
KERNEL_THREAD = 0x00200000
FILES = ("/proc/irq/*/smp_affinity_list", "/proc/irq/default_smp_affinity",
         "/sys/devices/virtual/workqueue/cpumask",
         "/sys/devices/virtual/workqueue/writeback/cpumask",
         "/proc/sys/kernel/watchdog_cpumask", "/proc/sys/kernel/timer_migration",
         "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us")


def text_of(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def kernel_threads():
    """Affinities of the kernel's threads that can be moved, by pid, start and name."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = text_of(f"/proc/{entry}/stat")
            name = stat[stat.index("(") + 1:stat.rindex(")")]
            fields = stat.rsplit(")", 1)[1].split()
            flags = int(fields[6])
            if flags & KERNEL_THREAD and not flags & NO_SETAFFINITY:
                found[(int(entry), fields[19], name)] = sorted(os.sched_getaffinity(int(entry)))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def machine():
    """All values that isolation may change."""
    return {path: text_of(path) for pattern in FILES for path in sorted(glob.glob(pattern))}


def devices():
    """Names of the devices of each interrupt that has one."""
    found = {}
    with open("/proc/interrupts", encoding="ascii") as file:
        columns = len(file.readline().split())
        for line in file:
            words = line.split()
            if words[0][:-1].isdigit() and len(words) > columns + 3:
                found[int(words[0][:-1])] = words[-1]
    return found


class TheMachine(NodeTest):
    def setUp(self):
        super().setUp()
        self.before = machine()
        self.threads = kernel_threads()
        with open(self.node.config, "a", encoding="utf-8") as file:
            file.write("isolation:\n  level: full\n")
        self.node.start()

    def journal(self):
        with open(os.path.join(self.node.root, "isolation.json"), encoding="utf-8") as file:
            return json.load(file)

    def hold(self):
        """A run on CPUs of its own, and these."""
        run = self.node.run("--cpus", "1", "--name", "holder", "--", *SLEEP)
        return run, self.node.container_cpus(self.node.running("holder"))

    def intruders(self, held):
        """What may still come to held CPUs and is not named."""
        named = " ".join(each["what"] for each in self.journal()["leftovers"])
        found = []
        for number, device in devices().items():
            path = f"/proc/irq/{number}/smp_affinity_list"
            if parse_cpus(text_of(path)) & held and f"interrupt {number} (" not in named:
                found.append(f"{number} {device}")
        for (pid, _, name), cpus in kernel_threads().items():
            if set(cpus) & held and f"kernel thread {pid} " not in named:
                found.append(name)
        return found

    def is_as_before(self):
        now = kernel_threads()
        return machine() == self.before and all(
            now[thread] == cpus for thread, cpus in self.threads.items() if thread in now)

    def check_kept_away(self, held):
        # Threads that the kernel makes later are found by the next reconcile.
        eventually(lambda: not self.intruders(held), "nothing that can be moved is on held CPUs")
        for cpu in held:
            path = f"/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"
            if path in self.before:
                self.assertEqual(text_of(path), "n/a")
        watchdog = "/proc/sys/kernel/watchdog_cpumask"
        if watchdog in self.before:
            self.assertFalse(parse_cpus(text_of(watchdog)) & held)
        workqueue = "/sys/devices/virtual/workqueue/cpumask"
        if workqueue in self.before:
            mask = int(text_of(workqueue).replace(",", ""), 16)
            self.assertFalse([cpu for cpu in held if mask >> cpu & 1])

    def test_is_off_held_cpus_until_they_come_back(self):
        run, held = self.hold()
        self.check_kept_away(held)
        run.terminate()
        run.wait(60)
        self.node.gone("holder")
        eventually(self.is_as_before, "everything is as it was")

    def test_is_given_back_by_the_agent_after_one_that_was_killed(self):
        run, held = self.hold()
        self.node.kill()
        self.check_kept_away(held)
        self.node.start()
        self.check_kept_away(held)
        run.terminate()
        run.wait(60)
        self.node.gone("holder")
        eventually(self.is_as_before, "everything is as it was")

    def test_is_given_back_without_an_agent(self):
        run, held = self.hold()
        self.check_kept_away(held)
        self.node.kill()
        code, _, err = self.node.isolation("release")
        self.assertEqual(code, 0, err)
        eventually(self.is_as_before, "everything is as it was")
        run.kill()
        run.wait(60)
        self.node.start()
        self.node.gone("holder")


if __name__ == "__main__":
    unittest.main(verbosity=2)
