#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a node: drift, kills, full and read-only disks, a second agent."""
import os
import resource
import signal
import subprocess
import unittest

from node import (BINARY, CONFIG, Node, NodeTest, Refused, allowed_cpus, cpuset_directory,
                  eventually, online_cpus, pod, start_time)

SLEEP = ["sleep", "1000"]


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def drift_repairs(node):
    return sum(event.get("count", 1) for event in node.events("CpusetDriftRepaired"))


class WhatTheCallerLeft(NodeTest):
    def test_blocked_signals_do_not_keep_the_agent_from_ending(self):
        everything = set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP}
        self.node.start(before_exec=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, everything))
        self.assertEqual(self.node.stop(), 0)

    def test_a_limit_on_the_size_of_files_is_a_refusal_and_no_death(self):
        self.node.start()
        limits = resource.prlimit(self.node.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.node.process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
        with self.assertRaises(Refused):
            self.node.create(pod("large", SLEEP))
        resource.prlimit(self.node.process.pid, resource.RLIMIT_FSIZE, limits)
        self.node.create(pod("small", SLEEP))
        self.node.running("small")

    def test_few_open_files_keep_containers_from_starting_and_nobody_from_being_answered(self):
        few = 80
        self.node.start(before_exec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
        names = [f"p{number}" for number in range(30)]
        for name in names:
            self.node.create(pod(name, SLEEP))
        told = eventually(lambda: self.node.events("FailedStart"), "a container has no room")
        self.assertIn("too many open files: it may have 80", told[0]["message"])
        for name in names:
            self.node.delete(name, grace=0)
        eventually(lambda: not self.node.pods(), "all pods are gone")


class Drift(NodeTest):
    reconcile = "200ms"

    def setUp(self):
        super().setUp()
        self.node.start()
        self.node.create(pod("holder", SLEEP, cpus=1))
        self.node.create(pod("neighbour", SLEEP))
        self.holder = self.node.running("holder")
        self.neighbour = self.node.running("neighbour")
        self.held = self.node.container_cpus(self.holder)

    def check_repaired(self, before):
        eventually(lambda: self.node.container_cpus(self.holder) == self.held, "the holder is back")
        eventually(lambda: self.node.container_cpus(self.neighbour) == online_cpus() - self.held,
                   "the neighbour is back")
        eventually(lambda: drift_repairs(self.node) > before, "the repair is counted")
        self.assertEqual(self.node.restarts("holder") + self.node.restarts("neighbour"), 0)
        self.check_books()

    def test_of_a_cpuset_written_by_somebody_else_is_repaired_and_counted(self):
        before = drift_repairs(self.node)
        for uid in (self.neighbour, self.holder):
            write(os.path.join(cpuset_directory(uid, "main"), "cpuset.cpus"),
                  ",".join(map(str, sorted(online_cpus()))))
        self.check_repaired(before)

    def test_of_a_process_moved_to_another_cgroup_is_repaired_and_counted(self):
        before = drift_repairs(self.node)
        pid = self.node.pids(self.neighbour)[0]
        root = cpuset_directory(self.neighbour, "main").split("/corehold")[0]
        write(os.path.join(root, "cgroup.procs"), str(pid))
        self.assertEqual(allowed_cpus(pid), online_cpus())
        eventually(lambda: pid in self.node.pids(self.neighbour), "the process is back")
        self.check_repaired(before)

    def test_of_a_cgroup_removed_underneath_is_repaired_and_counted(self):
        before = drift_repairs(self.node)
        pid = self.node.pids(self.holder)[0]
        born = start_time(pid)
        directory = cpuset_directory(self.holder, "main")
        write(os.path.join(directory.split("/corehold")[0], "cgroup.procs"), str(pid))
        os.rmdir(directory)
        eventually(lambda: pid in self.node.pids(self.holder), "the process is back")
        self.assertEqual(start_time(pid), born)
        self.check_repaired(before)


class AMonitorThatIsKilled(NodeTest):
    def test_takes_its_container_along_and_is_replaced(self):
        self.node.start()
        self.node.create(pod("holder", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"], cpus=1))
        uid = self.node.running("holder")
        pids = eventually(lambda: len(self.node.pids(uid)) == 2 and self.node.pids(uid), "two run")
        born = {pid: start_time(pid) for pid in pids}
        monitors = {int(open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1]
                        .split()[1]) for pid in pids} - set(pids)
        self.assertEqual(len(monitors), 1)
        os.kill(monitors.pop(), signal.SIGKILL)
        eventually(lambda: self.node.restarts("holder") == 1, "it has been restarted")
        self.node.running("holder")
        for pid, when in born.items():
            self.assertNotEqual(start_time(pid), when, "a process of the first run is left")
        self.check_books()


class ASecondAgent(NodeTest):
    def test_is_refused_naming_the_first(self):
        self.node.start()
        done = subprocess.run([BINARY, "agent", "--config", self.node.config, "--root",
                               os.path.join(self.node.base, "other")],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(self.node.process.pid), done.stderr)

    def test_that_only_simulates_is_free(self):
        self.node.start()
        process = subprocess.Popen(
            [BINARY, "agent", "--root", os.path.join(self.node.base, "other"),
             "--simulate", "package:2 numa:1 core:4 pu:2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            socket_path = os.path.join(self.node.base, "other", "run", "corehold.sock")
            eventually(lambda: os.path.exists(socket_path), "it listens")
            shown = subprocess.run([BINARY, "get", "cpus", "--root",
                                    os.path.join(self.node.base, "other")],
                                   capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("16 CPUs", shown.stdout)
        finally:
            process.terminate()
            process.wait(60)


class ADisk(NodeTest):
    """The root on a small tmpfs."""

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.node.base, "disk")
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.disk], check=True)
        self.node.root = os.path.join(self.disk, "root")

    def leave(self):
        subprocess.run(["mount", "-o", "remount,rw", self.disk], check=False)
        if os.path.exists(os.path.join(self.disk, "ballast")):
            os.remove(os.path.join(self.disk, "ballast"))
        self.node.clean()
        subprocess.run(["umount", self.disk], check=False)
        super().leave()

    def fill(self):
        with open(os.path.join(self.disk, "ballast"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def test_that_is_full_refuses_new_pods_and_keeps_the_others(self):
        self.node.start()
        self.node.create(pod("neighbour", SLEEP))
        uid = self.node.running("neighbour")
        self.fill()
        # What the log of the store has already takes some; none of them fits the machine.
        early = []
        with self.assertRaises(Refused) as caught:
            for number in range(1000):
                self.node.create(pod(f"early-{number}", SLEEP, cpus=100))
                early.append(f"early-{number}")
        self.assertGreaterEqual(caught.exception.code, 500)
        self.assertRegex(str(caught.exception), "ENOSPC|full")
        self.assertEqual(self.node.container_cpus(uid), online_cpus())
        self.check_books()
        for name in early:
            self.node.delete(name)
            self.node.gone(name)
        os.remove(os.path.join(self.disk, "ballast"))
        self.node.create(pod("late", SLEEP, cpus=1))
        self.node.running("late")
        self.assertEqual(len(self.node.container_cpus(uid)), len(online_cpus()) - 1)
        self.check_books()

    def test_that_is_full_lets_pods_be_deleted_and_their_cpus_go_back(self):
        self.node.start()
        self.node.create(pod("neighbour", SLEEP))
        self.node.create(pod("holder", SLEEP, cpus=1))
        uid = self.node.running("neighbour")
        self.node.running("holder")
        self.fill()
        self.node.delete("holder")
        self.node.gone("holder")
        eventually(lambda: self.node.container_cpus(uid) == online_cpus(), "the CPU is back")
        self.check_books()

    def is_full(self):
        return os.statvfs(self.disk).f_bavail == 0

    def test_that_a_pod_fills_again_and_again_does_not_keep_the_pod(self):
        self.node.start()
        filler = pod("filler", ["sh", "-c",
                                "while :; do cat /dev/zero >> /fill/it 2>/dev/null; sleep 0.01; done"],
                     cpus=1, volumes=[{"name": "v", "emptyDir": {}}])
        filler["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/fill"}]
        self.node.create(filler)
        uid = self.node.running("filler")
        eventually(self.is_full, "the disk is full")
        pids = self.node.pids(uid)
        for end in (self.node.kill, self.node.stop):
            end()
            eventually(self.is_full, "the disk is full")
            self.node.start()
            self.assertEqual(self.node.running("filler"), uid)
            self.assertIn(pids[0], self.node.pids(uid))
            self.assertEqual(self.node.restarts("filler"), 0)
        eventually(self.is_full, "the disk is full")
        self.node.delete("filler")
        self.node.gone("filler")
        eventually(lambda: not os.path.exists(os.path.join(self.node.root, "volumes", uid)),
                   "its files are removed, beside the loop")
        self.node.create(pod("next", SLEEP, cpus=1))
        self.node.running("next")
        self.check_books()

    def test_that_is_read_only_stops_the_start_with_a_reason(self):
        os.mkdir(self.node.root)
        subprocess.run(["mount", "-o", "remount,ro", self.disk], check=True)
        self.node.launch()
        self.assertEqual(self.node.process.wait(60), 1)
        self.assertIn(self.node.root, self.node.log())
        self.assertIn("EROFS", self.node.log())
        self.node.process = None


class ARoot(NodeTest):
    def test_that_turns_read_only_refuses_new_pods_and_keeps_the_others(self):
        self.node.start()
        self.node.create(pod("neighbour", SLEEP))
        uid = self.node.running("neighbour")
        before = self.node.checkpoint()
        # A file system with open files cannot be remounted; a directory can be locked.
        subprocess.run(["chattr", "+i", self.node.root], check=True)
        try:
            self.node.create(pod("late", SLEEP, cpus=1))
            message = eventually(lambda: [
                condition["message"]
                for condition in self.node.pod("late")["status"].get("conditions", [])
                if condition["type"] == "PodScheduled" and condition["status"] == "False"],
                "it waits")[0]
            self.assertIn("cannot save the checkpoint", message)
            self.assertIn("EPERM", message)
            self.assertEqual(self.node.container_cpus(uid), online_cpus())
            self.assertEqual(self.node.checkpoint(), before)
            self.check_books()
        finally:
            subprocess.run(["chattr", "-i", self.node.root], check=True)
        self.node.running("late")
        self.check_books()


class ACheckpoint(NodeTest):
    def test_that_is_corrupt_stops_the_start_and_is_not_touched(self):
        self.node.start()
        self.node.create(pod("holder", SLEEP, cpus=1))
        uid = self.node.running("holder")
        held = self.node.container_cpus(uid)
        pids = self.node.pids(uid)
        self.node.kill()
        path = os.path.join(self.node.root, "cpu_manager_state")
        with open(path, encoding="utf-8") as file:
            text = file.read().replace('"checksum":', '"checksum":1')
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.node.launch()
        self.assertEqual(self.node.process.wait(60), 1)
        self.assertIn("--recover", self.node.log())
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        self.node.start("--recover")
        self.assertEqual(self.node.pids(uid), pids)
        self.assertEqual(self.node.container_cpus(uid), held)
        self.assertEqual(self.node.restarts("holder"), 0)
        self.check_books()
        aside = [name for name in os.listdir(self.node.root)
                 if name.startswith("cpu_manager_state.corrupt-")]
        self.assertEqual(len(aside), 1, aside)


class AStore(NodeTest):
    """What SQLite does not notice."""

    def setUp(self):
        super().setUp()
        self.node.start()
        holder = pod("holder", SLEEP, cpus=1, volumes=[{"name": "v", "emptyDir": {}}])
        holder["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
        self.node.create(holder)
        self.uid = self.node.running("holder")
        self.pids = self.node.pids(self.uid)
        self.held = self.node.container_cpus(self.uid)
        self.store = os.path.join(self.node.root, "store.db")
        volume = os.path.join(self.node.root, "volumes", self.uid, "v")
        write(os.path.join(volume, "data"), "of the pod")
        self.data = os.path.join(volume, "data")
        # The files of a pod that is known to the store alone, and lost with it.
        self.node.create(pod("ended", ["true"], restartPolicy="Never"))
        eventually(lambda: self.node.pod("ended")["status"]["phase"] == "Succeeded", "it ends")
        self.ended = self.node.pod("ended")["metadata"]["uid"]

    def check_refused_and_recovered(self, message):
        self.node.launch()
        self.assertEqual(self.node.process.wait(60), 1)
        self.assertIn(self.store, self.node.log())
        self.assertRegex(self.node.log(), message)
        self.assertIn("--recover", self.node.log())
        for arguments in (["--recover"], []):
            self.node.start(*arguments)
            self.assertEqual(self.node.pids(self.uid), self.pids)
            self.assertEqual(self.node.container_cpus(self.uid), self.held)
            self.assertEqual(self.node.restarts("holder"), 0)
            self.check_books()
            self.assertTrue(os.path.exists(self.data))
            self.assertTrue(os.path.isdir(os.path.join(self.node.root, "logs", self.ended)))
            self.node.stop()
        self.node.start()

    def test_that_is_emptied_stops_the_start(self):
        self.node.stop()
        os.truncate(self.store, 0)
        self.check_refused_and_recovered("is empty, but [0-9]+ changes have been saved in it")

    def test_that_is_removed_with_all_that_belongs_to_it_stops_the_start(self):
        self.node.stop()
        for suffix in ("", "-wal", "-shm", "-seal"):
            if os.path.exists(self.store + suffix):
                os.remove(self.store + suffix)
        self.check_refused_and_recovered("is missing, but .*cpu_manager_state gives CPUs to 1 pods")

    def test_whose_log_has_one_wrong_bit_stops_the_start(self):
        self.node.kill()
        with open(self.store + "-wal", "r+b") as file:
            file.seek(32 + 24 + 100)  # in the first page
            byte = file.read(1)[0]
            file.seek(32 + 24 + 100)
            file.write(bytes([byte ^ 1]))
        self.check_refused_and_recovered("its newest changes are lost|is missing|is not whole")


class ANodeWithPolicyNone(NodeTest):
    def test_never_touches_cpusets(self):
        with open(self.node.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(reconcile="200ms")
                       .replace("cpuManagerPolicy: static", "cpuManagerPolicy: none"))
        self.node.start()
        self.node.create(pod("asks", SLEEP, cpus=1))
        uid = self.node.running("asks")
        self.assertEqual(self.node.container_cpus(uid), online_cpus())


if __name__ == "__main__":
    unittest.main(verbosity=2)
