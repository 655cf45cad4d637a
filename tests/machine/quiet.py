# SPDX-License-Identifier: Apache-2.0
"""`corehold quiet` in a guest says what a shell reads in /proc there.

The shell looks before and after the command: of threads that were there both times, with the same
affinity, the command has to say the same, one by one. At level containers others may run on held
CPUs, and one does; at level fence nobody may.
"""
import re
from collections import Counter
from dataclasses import dataclass

from fence import isolation
from guest import M16
from guest_node import GuestNode, Pods, config, cpus, runs
from image import KERNELS
from interrupts import first_held
from others import Others

SECONDS = 2
COLUMNS = 80
HELD = 2  # CPUs
KERNEL_THREAD, BOUND = 0x00200000, 0x04000000  # flags in /proc/TID/stat
THREADS = "/proc/[0-9]*/task/[0-9]*"
LOOK = (
    f"grep -H Cpus_allowed_list: {THREADS}/status; grep -H ^0:: {THREADS}/cgroup;"
    f" grep -H '' {THREADS}/schedstat; cat {THREADS}/stat"
)
FIELD = re.compile(r"^/proc/\d+/task/(\d+)/(status|cgroup|schedstat):(.*)$")
STAT = re.compile(r"^(\d+) \(.*\) \S \d+ ")


@dataclass(frozen=True)
class Thread:
    cpus: frozenset
    cgroup: str
    kinds: frozenset  # what the command may call it

    def is_of(self, uid):
        return f"/{uid}/" in f"{self.cgroup}/"


def kinds_of(name, flags, allowed):
    if not flags & KERNEL_THREAD:
        return {"task"}
    if not flags & BOUND:
        return {"interruptThread" if name.startswith("irq/") else "kernelThread"}
    # A worker of unbound work may be left with one CPU.
    if name.startswith("kworker/u") or len(allowed) > 1:
        return {"workqueue"}
    return {"boundThread"}


class Look:
    """All threads of the guest, as the shell reads them: {(number, start): Thread}."""

    def __init__(self, guest):
        fields, stats = {}, {}
        for line in guest.sh(f"{{ {LOOK}; }} 2> /dev/null", check=False).splitlines():
            if found := FIELD.match(line):
                fields.setdefault(int(found.group(1)), {})[found.group(2)] = found.group(3)
            elif found := STAT.match(line):
                stats[int(found.group(1))] = line
        self.threads, self.ran = {}, {}
        for number, line in stats.items():
            head, _, tail = line.rpartition(")")
            values = tail.split()
            found = fields.get(number, {})
            if values[0] in "ZX" or not {"status", "cgroup"} <= set(found):
                continue
            allowed = frozenset(cpus(found["status"].split(":")[1]))
            name = head.partition("(")[2]
            self.threads[number, int(values[19])] = Thread(
                allowed, found["cgroup"].removeprefix("0::"),
                frozenset(kinds_of(name, int(values[6]), allowed)),
            )
            self.ran[number] = int(found["schedstat"].split()[0]) if "schedstat" in found else 0

    def stable(self, later):
        """Those that are the same in a later look, by number."""
        return {key[0]: thread for key, thread in self.threads.items()
                if later.threads.get(key) == thread}


class Report:
    """What the command says, with a look before and after it."""

    def __init__(self, node, words):
        self.before = Look(node.guest)
        self.said = node.json(f"quiet {words} --seconds {SECONDS}")
        self.after = Look(node.guest)
        self.stable = self.before.stable(self.after)
        self.rows = {row["cpu"]: row for row in self.said["cpus"]}

    def told(self, cpu):
        """Threads that may run there, by number."""
        return {task["tid"]: task for task in self.said["tasks"] if cpu in cpus(task["cpus"])}

    def check_who_may_run(self, held, uid):
        assert sorted(self.rows) == sorted(held), (sorted(self.rows), held)
        assert len(self.stable) > 50, len(self.stable)
        for cpu, row in self.rows.items():
            told = self.told(cpu)
            counted = Counter()
            for number, thread in self.stable.items():
                may = cpu in thread.cpus and not thread.is_of(uid)
                assert (number in told) == may, (cpu, number, thread, told.get(number))
                if may:
                    assert told[number]["kind"] in thread.kinds, (thread, told[number])
                    assert told[number]["cgroup"] == thread.cgroup, (thread, told[number])
                    counted[told[number]["kind"]] += 1
            kinds = Counter(task["kind"] for task in told.values())
            others = kinds["kernelThread"] + kinds["workqueue"] + kinds["interruptThread"]
            may_run = row["mayRun"]
            assert may_run["tasks"] == kinds["task"], (may_run, kinds)
            assert may_run["boundThreads"] == kinds["boundThread"], (may_run, kinds)
            assert may_run["kernelThreads"] == others, (may_run, kinds)
            print(f"  CPU {cpu}: /proc has {dict(counted)}, corehold quiet says {may_run}", flush=True)

    def check_spinner(self, cpu, number):
        """It ran there for most of the time, and for as long as the kernel says."""
        first, *_ = self.rows[cpu]["ran"]
        assert first["tid"] == number, self.rows[cpu]["ran"]
        (task,) = [each for each in self.said["tasks"] if each["tid"] == number]
        assert task["lastCpu"] == cpu and first["ranNanoseconds"] == task["ranNanoseconds"], task
        begin, end = self.before.ran[number], self.after.ran[number]
        total, ran = task["totalNanoseconds"], task["ranNanoseconds"]
        print(f"  the spinner ran {ran / 1e9:.2f} s in {self.said['watchedSeconds']:.2f} s, and"
              f" {(end - begin) / 1e9:.2f} s from look to look", flush=True)
        assert begin <= total - ran and total <= end, (begin, total, ran, end)
        assert ran >= self.said["watchedSeconds"] * 1e9 / 2, (task, self.said["watchedSeconds"])


def check_table(node, words):
    said = node.guest.sh(
        f"COLUMNS={COLUMNS} {node.binary} quiet {words} --seconds 1 --root {node.root} > /tmp/table"
        " && cat /tmp/table"
    )
    print(said)
    wide = [line for line in said.splitlines() if len(line) > COLUMNS]
    assert not wide, wide
    assert "WHO MAY RUN" in said and "WHO DID" in said, said


def start_spinner(others, cpu):
    others.guest.write("/tmp/spin", "while :; do :; done")
    return others.start("spinner", "system/app", f"taskset {1 << cpu:x} sh /tmp/spin")


def hold(node):
    """A pod with CPUs of its own: these, and its uid."""
    node.apply([Pods().pod("held", HELD)])
    node.eventually(lambda: runs(node.pods()["held"]), "it runs")
    return sorted(node.held("held")), node.pods()["held"]["metadata"]["uid"]


def at_level_containers(guest):
    with GuestNode(guest, config("0", own=isolation("containers"))) as node, Others(guest) as others:
        sleeper = others.start("sleeper", "user/session", "sleep 100000")
        held, uid = hold(node)
        spinner = start_spinner(others, held[0])
        report = Report(node, ",".join(map(str, held)))
        report.check_who_may_run(held, uid)
        for cpu in held:
            assert sleeper in report.told(cpu), (cpu, sorted(report.told(cpu)))
        assert spinner in report.told(held[0]) and spinner not in report.told(held[1])
        report.check_spinner(held[0], spinner)
        named = Report(node, "pod held")
        named.check_who_may_run(held, uid)
        assert all(row["heldBy"] == "default/held c0" for row in named.rows.values()), named.rows
        check_table(node, "pod held")


def at_level_fence(guest):
    with GuestNode(guest, config("0", own=isolation())) as node, Others(guest) as others:
        sleeper = others.start("sleeper", "user/session", "sleep 100000")
        expected = sorted(first_held(node, HELD))
        spinner = start_spinner(others, expected[0])
        held, uid = hold(node)
        assert held == expected, (held, expected)
        report = Report(node, ",".join(map(str, held)))
        report.check_who_may_run(held, uid)
        for cpu, row in report.rows.items():
            told = [task for task in report.told(cpu).values() if task["kind"] == "task"]
            assert row["mayRun"]["tasks"] == 0, (cpu, told)
            ran = {task["tid"] for task in row["ran"]}
            assert not ran & {sleeper, spinner, node.pid}, (cpu, row["ran"])
        check_table(node, "pod held")


def quiet(guest):
    print("level containers:", flush=True)
    at_level_containers(guest)
    print("level fence:", flush=True)
    at_level_fence(guest)


TESTS = {f"quiet_{suite}": (M16, quiet, {"suite": suite}) for suite in KERNELS}
