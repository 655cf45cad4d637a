#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/follow_cpus.cc, told of its CPUs by a directory that changes as a volume does."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEADLINE = 300  # seconds; nothing here takes long unless it hangs
PROGRAM = os.environ["FOLLOW_CPUS"]
# The thread sanitizer has one thread of its own, started after the program's first.
SANITIZER_THREADS = int(os.environ.get("SANITIZER_THREADS", "0"))


class Volume:
    """A directory of which all changes at once, the way kubelet volumes do."""

    def __init__(self, path):
        self.path, self.count = path, 0
        os.mkdir(path)

    def file(self):
        return os.path.join(self.path, "assigned.cpuset")

    def say(self, text):
        self.count += 1
        content = f"..content-{self.count}"
        os.mkdir(os.path.join(self.path, content))
        with open(os.path.join(self.path, content, "assigned.cpuset"), "w", encoding="ascii") as file:
            file.write(text)
        data, link = os.path.join(self.path, "..data"), os.path.join(self.path, "..data_tmp")
        old = os.readlink(data) if os.path.islink(data) else None
        os.symlink(content, link)
        os.rename(link, data)
        if not os.path.islink(self.file()):
            os.symlink("..data/assigned.cpuset", self.file())
        if old:
            shutil.rmtree(os.path.join(self.path, old))


class FollowCpus(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="follow-cpus-")
        self.addCleanup(shutil.rmtree, self.root)
        self.directory = os.path.join(self.root, "podinfo")

    def start(self, *words):
        process = subprocess.Popen(
            [PROGRAM, *words, os.path.join(self.directory, "assigned.cpuset")], stdout=subprocess.PIPE, bufsize=0
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def line(self, process):
        """The next thing it says, without the time."""
        text = b""
        end = time.monotonic() + DEADLINE
        while not text.endswith(b"\n"):
            if not select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                self.fail(f"it says nothing more after {text!r}")
            byte = process.stdout.read(1)
            if not byte:
                self.fail(f"it has ended after {text!r}")
            text += byte
        return re.sub(r"^ *\d+\.\d{3}  ", "", text.decode()).rstrip("\n")

    @staticmethod
    def threads(process):
        """Where its threads may run, the first thread first."""
        masks = []
        tasks = sorted(os.listdir(f"/proc/{process.pid}/task"), key=int)
        del tasks[1 : 1 + SANITIZER_THREADS]
        for task in tasks:
            with open(f"/proc/{process.pid}/task/{task}/status", encoding="ascii") as file:
                masks.append(re.search(r"Cpus_allowed_list:\t(\S+)", file.read()).group(1))
        return masks

    def two_cpus(self):
        """Two that this process may use, and both as a list of the kernel's."""
        own = sorted(os.sched_getaffinity(0))
        if len(own) < 2:
            self.skipTest("needs two CPUs")
        first, second = own[0], own[1]
        return first, second, f"{first}-{second}" if second == first + 1 else f"{first},{second}"

    def wait_for_threads(self, process, expected):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if self.threads(process) == expected:
                return
            time.sleep(0.02)
        self.assertEqual(self.threads(process), expected)

    def test_workers_leave_the_cpus_that_leave_and_come_back_with_them(self):
        volume = Volume(self.directory)
        volume.say("0-5,8")
        process = self.start("--no-pin")
        self.assertEqual(self.line(process), "has 0-5,8; on 0-5,8; workers: 7")
        volume.say("0-1")
        self.assertRegex(self.line(process), r"^has 0-1; off 2-5,8 in \d+\.\d\d ms; workers: 2$")
        self.assertEqual(len(self.threads(process)), 3, "the others have ended")
        volume.say("0-2,7")
        self.assertEqual(self.line(process), "has 0-2,7; on 2,7; workers: 4")
        volume.say("2")
        self.assertRegex(self.line(process), r"^has 2; off 0-1,7 in \d+\.\d\d ms; workers: 1$")

    def test_each_worker_is_pinned_to_its_cpu_and_the_first_thread_to_all(self):
        first, second, both = self.two_cpus()
        volume = Volume(self.directory)
        volume.say(f"{first},{second}")
        process = self.start("--busy")
        self.line(process)
        self.wait_for_threads(process, [both, str(first), str(second)])
        volume.say(str(first))
        self.line(process)
        self.wait_for_threads(process, [str(first), str(first)])
        volume.say(f"{first},{second}")
        self.line(process)
        self.wait_for_threads(process, [both, str(first), str(second)])

    def test_a_worker_that_was_put_elsewhere_is_pinned_again(self):
        first, second, both = self.two_cpus()
        volume = Volume(self.directory)
        volume.say(f"{first},{second}")
        process = self.start()
        self.line(process)
        # A worker begins on all CPUs of the thread that started it: on one, it has pinned itself.
        self.wait_for_threads(process, [both, str(first), str(second)])
        worker = max(int(task) for task in os.listdir(f"/proc/{process.pid}/task"))
        os.sched_setaffinity(worker, {first, second})
        self.assertEqual(self.line(process), f"CPU {second}: its worker is pinned again")
        self.wait_for_threads(process, [both, str(first), str(second)])

    def test_a_cpu_that_it_may_not_use_is_told_and_worked_without(self):
        volume = Volume(self.directory)
        volume.say("4095")
        process = self.start()
        lines = {self.line(process), self.line(process)}
        self.assertIn("has 4095; on 4095; workers: 1", lines)
        self.assertIn("CPU 4095 cannot be had (Invalid argument): its worker runs where it may", lines)

    def test_waits_for_a_directory_and_a_file_that_are_not_there(self):
        process = self.start("--no-pin")
        self.assertEqual(self.line(process), f"waits for {self.directory}/assigned.cpuset")
        volume = Volume(self.directory)
        volume.say("3")
        self.assertEqual(self.line(process), "has 3; on 3; workers: 1")

    def test_waits_for_a_file_in_a_directory_that_is_there(self):
        volume = Volume(self.directory)
        process = self.start("--no-pin")
        self.assertEqual(self.line(process), f"waits for {self.directory}/assigned.cpuset")
        volume.say("3")
        self.assertEqual(self.line(process), "has 3; on 3; workers: 1")

    def test_follows_a_directory_that_is_made_anew(self):
        Volume(self.directory).say("3")
        process = self.start("--no-pin")
        self.line(process)
        for count, cpus in enumerate(("4", "5")):
            os.rename(self.directory, os.path.join(self.root, f"old{count}"))
            Volume(self.directory).say(cpus)
            self.assertRegex(self.line(process), f"^has {cpus}; off .*; on {cpus}; workers: 1$")

    def test_nothing_of_its_own_is_one_worker_anywhere(self):
        volume = Volume(self.directory)
        volume.say("")
        process = self.start()
        self.assertEqual(self.line(process), "no CPUs of its own; workers: 1")
        allowed = self.threads(process)[0]
        self.wait_for_threads(process, [allowed, allowed])

    def test_what_is_no_list_changes_nothing(self):
        volume = Volume(self.directory)
        volume.say("0-1")
        process = self.start("--no-pin")
        self.line(process)
        for text in ("0-", "1,", ",1", "3-2", "x", "0 1", "99999999"):
            volume.say(text)
            self.assertEqual(self.line(process), f'"{text}" is no list of CPUs: nothing changes')
        volume.say("0")
        self.assertRegex(self.line(process), "^has 0; off 1 in .*; workers: 1$")

    def test_hears_the_last_of_many_changes(self):
        volume = Volume(self.directory)
        volume.say("0")
        process = self.start("--no-pin")
        self.line(process)
        for count in range(2000):
            volume.say(f"{count % 7}-{count % 7 + count % 3}")
        volume.say("11")
        while not self.line(process).startswith("has 11;"):
            pass

    def test_hears_of_a_change_when_there_were_too_many_to_be_told(self):
        with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
            most = int(file.read())
        if most > 100_000:
            self.skipTest("the kernel's queue is too long to be filled")
        volume = Volume(self.directory)
        volume.say("0")
        process = self.start("--no-pin")
        self.line(process)
        process.send_signal(signal.SIGSTOP)
        names = [os.path.join(self.directory, name) for name in ("a", "b")]
        with open(names[0], "w", encoding="ascii"):
            pass
        for _ in range(most // 2 + 10):
            os.rename(names[0], names[1])
            os.rename(names[1], names[0])
        volume.say("5")
        process.send_signal(signal.SIGCONT)
        self.assertRegex(self.line(process), "^has 5; off 0 in .*; on 5; workers: 1$")

    def test_ends_when_it_is_asked_to(self):
        Volume(self.directory).say("0")
        process = self.start("--no-pin", "--busy")
        self.line(process)
        process.terminate()
        self.assertEqual(process.wait(timeout=DEADLINE), 0)

    def test_says_how_it_is_used(self):
        done = subprocess.run([PROGRAM, "--what"], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "usage: follow_cpus [--no-pin] [--busy] [FILE]\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
