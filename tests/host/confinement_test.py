#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where processes run on the real kernel: CPU 0 is reserved, the others can be given."""
import os
import signal
import subprocess
import time
import unittest

from node import (NodeTest, allowed_cpus, eventually, online_cpus, parse_cpus, pod, start_time)

SLEEP = ["sleep", "1000"]


FIFO = ["chrt", "-f", "50"]


def require_real_time(test):
    """Nothing is to be had inside a container that this test may not have outside."""
    if subprocess.run([*FIFO, "true"], check=False, capture_output=True).returncode != 0:
        test.skipTest("real-time scheduling is refused outside of containers as well")


def last_line(text):
    return text.strip().splitlines()[-1]


class ARun(NodeTest):
    def setUp(self):
        super().setUp()
        self.node.start()

    def test_is_confined_with_its_children_to_one_cpu(self):
        script = ("grep Cpus_allowed_list /proc/self/status; "
                  "(grep Cpus_allowed_list /proc/self/status); "
                  "setsid sh -c 'grep Cpus_allowed_list /proc/self/status; exit 0'")
        run = self.node.run("--cpus", "1", "--", "sh", "-c", script)
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 0, err)
        seen = {line.split()[1] for line in out.splitlines()}
        self.assertEqual(len(out.splitlines()), 3, out)
        self.assertEqual(len(seen), 1, out)
        cpus = parse_cpus(seen.pop())
        self.assertEqual(len(cpus), 1)
        self.assertTrue(cpus <= online_cpus() - {0}, cpus)
        if online_cpus() == {0, 1}:
            self.assertEqual(cpus, {1})

    def test_cannot_leave_by_asking_for_another_affinity(self):
        script = ("import os\n"
                  "try:\n  os.sched_setaffinity(0, {0})\nexcept OSError as e:\n  print('refused')\n"
                  "os.sched_setaffinity(0, range(os.cpu_count()))\n"
                  "print(sorted(os.sched_getaffinity(0)))\n")
        run = self.node.run("--cpus", "1", "--", "python3", "-c", script)
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 0, err)
        self.assertIn("refused", out)
        self.assertNotIn("[0", last_line(out))

    def test_ends_with_the_code_of_its_command(self):
        for command, code in ((["sh", "-c", "exit 7"], 7), (["true"], 0),
                              (["sh", "-c", "kill -9 $$"], 137), (["no-such-command-here"], 127)):
            run = self.node.run("--cpus", "1", "--", *command)
            run.communicate(timeout=300)
            self.assertEqual(run.returncode, code, command)
        eventually(lambda: not self.node.pods(), "no pod is left")
        self.check_books()

    def test_may_use_real_time_scheduling_as_outside(self):
        require_real_time(self)
        corehold = [self.node.binary, "run", "--root", self.node.root, "--cpus", "1", "--"]
        for command in ([*corehold, *FIFO, "chrt", "-p", "0"],
                        # A client that has real-time scheduling hands it on.
                        [*FIFO, *corehold, "chrt", "-p", "0"]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("SCHED_FIFO", done.stdout)

    def test_passes_standard_input_and_environment_through(self):
        run = self.node.run("--cpus", "1", "--", "sh", "-c", "read x; echo $x $GREETING; pwd",
                            stdin=subprocess.PIPE, env={**os.environ, "GREETING": "hello"},
                            cwd="/tmp")
        out, err = run.communicate("there\n", timeout=300)
        self.assertEqual(out, "there hello\n/tmp\n", err)

    def test_frees_its_cpu_whatever_kills_it(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP):
            run = self.node.run("--cpus", "1", "--name", "victim", "--", "sh", "-c",
                                "sleep 1000 & setsid sleep 1000 & wait")
            uid = self.node.running("victim")
            pids = eventually(lambda u=uid: len(self.node.pids(u)) >= 3 and self.node.pids(u),
                              "three processes run")
            born = {pid: start_time(pid) for pid in pids}
            run.send_signal(number)
            run.wait(60)
            self.node.gone("victim")
            for pid, when in born.items():
                self.assertNotEqual(start_time(pid), when, f"{pid} has outlived signal {number}")
            self.check_books()

    def test_leaves_what_its_shell_had_in_the_background_alone(self):
        script = (f"sleep 1000 & echo $!; exec {self.node.binary} run --root {self.node.root} "
                  "--cpus 1 --name taken-over -- sh -c 'sleep 1000 & wait'")
        run = subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
        other = int(run.stdout.readline())
        try:
            uid = self.node.running("taken-over")
            eventually(lambda: len(self.node.pids(uid)) >= 2, "two processes run")
            self.node.kill()
            self.node.start()
            self.node.running("taken-over")
            self.assertNotIn(other, self.node.pids(uid))
            # Where everybody else of the machine may run, too.
            self.assertEqual(allowed_cpus(other), online_cpus() - self.node.container_cpus(uid))
            run.terminate()
            run.wait(60)
            self.node.gone("taken-over")
            self.assertIsNotNone(start_time(other), "the shell's other child was killed")
        finally:
            os.kill(other, signal.SIGKILL)
            run.stdout.close()
        self.check_books()

    def test_frees_its_cpu_when_it_dies_while_no_agent_is_there(self):
        run = self.node.run("--cpus", "1", "--name", "victim", "--", "sleep", "1000")
        self.node.running("victim")
        self.node.kill()
        run.kill()
        run.wait(60)
        self.node.start()
        self.node.gone("victim")
        self.check_books()

    def test_goes_on_while_the_agent_is_exchanged(self):
        run = self.node.run("--cpus", "1", "--name", "steady", "--", "sh", "-c", "read x; exit 5",
                            stdin=subprocess.PIPE)
        self.node.running("steady")
        self.assertEqual(self.node.stop(), 0)
        self.node.start()
        self.node.running("steady")
        self.assertIsNone(run.poll())
        run.communicate("go\n", timeout=300)
        self.assertEqual(run.returncode, 5)
        self.node.gone("steady")

    def test_that_does_not_fit_says_who_is_in_the_way(self):
        count = len(online_cpus()) - 1
        first = self.node.run("--cpus", str(count), "--name", "first", "--", *SLEEP)
        self.node.running("first")
        second = self.node.run("--cpus", "1", "--name", "second", "--", "true")
        _, err = second.communicate(timeout=300)
        self.assertEqual(second.returncode, 1)
        self.assertIn("not enough cpus available to satisfy request: requested=1, available=0", err)
        self.assertIn("default/first", err)
        waiting = self.node.run("--cpus", "1", "--wait", "--name", "third", "--", "true")
        eventually(lambda: self.node.pod("third"), "the third waits")
        first.terminate()
        first.wait(60)
        self.assertEqual(waiting.wait(60), 0)


class ASharedContainer(NodeTest):
    def test_leaves_a_cpu_before_its_new_holder_starts_and_gets_it_back(self):
        self.node.start()
        self.node.create(pod("neighbour", SLEEP))
        uid = self.node.running("neighbour")
        self.assertEqual(self.node.container_cpus(uid), online_cpus())
        # The exclusive container's first act is to look where its neighbour may run.
        neighbour = self.node.pids(uid)[0]
        run = self.node.run("--cpus", "1", "--", "sh", "-c",
                            f"grep Cpus_allowed_list /proc/{neighbour}/status /proc/self/status")
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 0, err)
        its, own = (parse_cpus(line.split()[-1]) for line in out.splitlines())
        self.assertEqual(len(own), 1)
        self.assertEqual(its, online_cpus() - own)
        eventually(lambda: allowed_cpus(neighbour) == online_cpus(), "the neighbour has it back")

    def test_that_comes_later_stays_off_given_cpus(self):
        self.node.start()
        run = self.node.run("--cpus", "1", "--name", "holder", "--", *SLEEP)
        held = self.node.container_cpus(self.node.running("holder"))
        self.node.create(pod("late", SLEEP))
        uid = self.node.running("late")
        self.assertEqual(self.node.container_cpus(uid), online_cpus() - held)
        run.terminate()
        run.wait(60)
        eventually(lambda: self.node.container_cpus(uid) == online_cpus(), "it may run everywhere")


class APod(NodeTest):
    def setUp(self):
        super().setUp()
        self.node.start()

    def test_waits_until_it_fits(self):
        count = len(online_cpus()) - 1
        self.node.create(pod("first", SLEEP, cpus=count))
        self.node.running("first")
        self.node.create(pod("second", SLEEP, cpus=count))
        waiting = eventually(lambda: [condition for condition in
                                      self.node.pod("second")["status"].get("conditions", [])
                                      if condition["type"] == "PodScheduled"
                                      and condition["status"] == "False"], "it waits")[0]
        self.assertEqual(waiting["reason"], "Unschedulable")
        self.assertIn("requested=", waiting["message"])
        self.node.delete("first")
        self.node.running("second")
        self.check_books()

    def test_is_restarted_on_the_same_cpus_when_it_is_killed_from_outside(self):
        self.node.create(pod("phoenix", SLEEP, cpus=1))
        uid = self.node.running("phoenix")
        cpus = self.node.container_cpus(uid)
        before = self.node.pids(uid)
        os.kill(before[0], signal.SIGKILL)
        eventually(lambda: self.node.restarts("phoenix") == 1, "it has been restarted")
        self.node.running("phoenix")
        self.assertNotEqual(self.node.pids(uid), before)
        self.assertEqual(self.node.container_cpus(uid), cpus)
        last = self.node.pod("phoenix")["status"]["containerStatuses"][0]["lastState"]
        self.assertEqual(last["terminated"]["exitCode"], 137)

    def test_ends_with_its_command_and_frees_its_cpus(self):
        self.node.create(pod("short", ["sh", "-c", "echo out; echo err >&2; exit 3"], cpus=1,
                             restartPolicy="Never"))
        done = eventually(lambda: (found := self.node.pod("short"))["status"]["phase"] == "Failed"
                          and found, "it has failed")
        state = done["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(state["exitCode"], 3)
        eventually(lambda: parse_cpus(self.node.cpus()["shared"]) == online_cpus(), "CPUs are back")
        code, out, _ = self.node.command("logs", "short")
        self.assertEqual((code, sorted(out.split())), (0, ["err", "out"]))

    def test_may_use_real_time_scheduling_as_outside_beside_others_that_do(self):
        require_real_time(self)
        command = [*FIFO, *SLEEP]
        for name, cpus in (("first", 1), ("second", None), ("third", None)):
            self.node.create(pod(name, command, cpus=cpus))
        for name in ("first", "second", "third"):
            uid = self.node.running(name)
            eventually(lambda u=uid: [os.sched_getscheduler(pid) for pid in self.node.pids(u)] ==
                       [os.SCHED_FIFO], f"{name} has real-time scheduling")
            self.assertEqual(self.node.restarts(name), 0)
        # The other containers' share comes back.
        for name in ("second", "third", "first"):
            self.node.delete(name, grace=0)
            self.node.gone(name)
        self.node.create(pod("again", command, cpus=1))
        uid = self.node.running("again")
        eventually(lambda: [os.sched_getscheduler(pid) for pid in self.node.pids(uid)] ==
                   [os.SCHED_FIFO], "it has real-time scheduling")

    def test_is_asked_to_stop_and_then_killed(self):
        stubborn = ["sh", "-c", "trap 'echo asked' TERM; while true; do sleep 0.05; done"]
        self.node.create(pod("stubborn", stubborn, cpus=1))
        uid = self.node.running("stubborn")
        pids = self.node.pids(uid)
        born = start_time(pids[0])
        begun = time.monotonic()
        self.node.delete("stubborn")
        self.node.gone("stubborn")
        self.assertGreaterEqual(time.monotonic() - begun, 0.9)  # its grace is a second
        self.assertNotEqual(start_time(pids[0]), born)

    def test_sees_its_volumes_where_it_asks_for_them(self):
        manifest = pod("volumes", ["sh", "-c",
                                   "cat /corehold-test/info/cpus; echo; cat /etc/corehold-test/name; "
                                   "echo; echo kept > /corehold-test/scratch/file; "
                                   "cat /corehold-test/scratch/file; ls /etc/passwd"],
                       cpus=1, restartPolicy="Never")
        spec = manifest["spec"]
        spec["volumes"] = [
            {"name": "info", "downwardAPI": {"items": [
                {"path": "cpus", "resourceFieldRef": {"containerName": "main",
                                                      "resource": "assigned.cpuset"}},
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "scratch", "emptyDir": {}}]
        spec["containers"][0]["volumeMounts"] = [
            {"name": "info", "mountPath": "/corehold-test/info"},
            {"name": "info", "mountPath": "/etc/corehold-test"},
            {"name": "scratch", "mountPath": "/corehold-test/scratch"}]
        self.node.create(manifest)
        eventually(lambda: self.node.pod("volumes")["status"]["phase"] in ("Succeeded", "Failed"),
                   "it has ended")
        _, out, err = self.node.command("logs", "volumes")
        lines = out.split()
        self.assertEqual(lines[1:], ["volumes", "kept", "/etc/passwd"], out + err)
        self.assertEqual(len(parse_cpus(lines[0])), 1)
        self.assertFalse(os.path.exists("/corehold-test"))
        self.assertFalse(os.path.exists("/etc/corehold-test"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
