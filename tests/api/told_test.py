#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pods and people are told of a shrink with a delay, by a real agent in real time.

A delay is looked at while delays are held. What is left of its time is shown only until it has passed:
a machine so busy that it passes before anybody looks is given another delay.
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest

from agent import DEADLINE, MERGE, PODS, pod
from resize_api_test import CONFIG, ResizeTest

COREHOLD = os.environ["COREHOLD"]
FAST = "0.5s"
LEFT = r"(?:\d+|0\.\d)s"  # of a delay


def delayed(delay, gate=False):
    return CONFIG.replace('"true"\n', f'"true"\n  scale-delay-time: "{delay}"\n', 1) + (
        "  CPUManagerPolicyAlphaOptions: true\n" + (f"  DownwardAPIAssignedResources: {str(gate).lower()}\n")
    )


def item(path, **value):
    return {"path": path, **value}


def amount(resource, **more):
    return {"resourceFieldRef": {"containerName": "main", "resource": resource, **more}}


def asking(name, cpus, items, **metadata):
    """A pod with these items in a volume."""
    body = pod(name, cpus, **metadata)
    body["spec"]["volumes"] = [{"name": "info", "downwardAPI": {"items": items}}]
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "info", "mountPath": "/etc/podinfo"}]
    return body


class Told(ResizeTest):
    config = delayed(FAST)

    def start(self, body):
        answer = self.agent.ask("POST", PODS, body)
        self.assertEqual(answer.code, 201, answer.text)
        name = body["metadata"]["name"]
        self.agent.wait_for(f"{PODS}/{name}", lambda a: a.json["status"]["phase"] == "Running")
        self.uid = answer.json["metadata"]["uid"]

    def file(self, name, volume="info"):
        with open(os.path.join(self.agent.root, "podinfo", self.uid, volume, name), encoding="utf-8") as file:
            return file.read()

    def wait_for_file(self, name, expected, volume="info"):
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if self.file(name, volume) == expected:
                return
            time.sleep(0.01)
        self.assertEqual(self.file(name, volume), expected)

    def command(self, words):
        return [COREHOLD, *words.split(), "--root", self.agent.root]

    def run_words(self, words):
        done = subprocess.run(
            self.command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE,
            check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}")
        return done.stdout


class Files(Told):
    def test_the_file_says_what_stays_before_the_rest_is_taken_and_what_came_when_it_can_be_used(self):
        self.start(asking("db", 2, [item("cpus", **amount("assigned.cpuset")), item("n", **amount("limits.cpu"))]))
        self.assertEqual((self.file("cpus"), self.file("n")), ("0-1", "2"))
        self.resize("db", 6)
        self.settled("db")
        self.assertEqual((self.file("cpus"), self.file("n")), ("0-5", "6"))
        with self.agent.held_delays():
            self.resize("db", 2)
            self.wait_for_file("cpus", "0-1")
            self.assertEqual(self.assigned("db"), "0-5", "it is told, and nothing is taken yet")
        self.settled("db")
        self.assertEqual((self.assigned("db"), self.file("cpus"), self.file("n")), ("0-1", "0-1", "2"))

    def test_both_files_of_each_container_come_with_the_annotation(self):
        self.start(pod("db", 2, annotations={"corehold.dev/podinfo": "/etc/podinfo"}))
        self.assertEqual(self.file("assigned.cpuset", ".assigned-main"), "0-1")
        self.resize("db", 4)
        self.settled("db")
        self.assertEqual(self.file("assigned.cpuset", ".assigned-main"), "0-3")
        with self.agent.held_delays():
            self.resize("db", 2)
            self.wait_for_file("assigned.cpuset", "0-1", ".assigned-main")
            self.assertEqual(self.assigned("db"), "0-3")
        self.settled("db")

    def test_files_follow_labels_and_annotations_and_a_resize_of_memory(self):
        self.start(asking("db", 2, [
            item("labels", fieldRef={"fieldPath": "metadata.labels"}),
            item("one", fieldRef={"fieldPath": "metadata.labels['app']"}),
            item("notes", fieldRef={"fieldPath": "metadata.annotations"}),
            item("memory", **amount("limits.memory", divisor="1Mi")),
        ], labels={"app": "x"}))
        self.assertEqual((self.file("labels"), self.file("one"), self.file("notes")), ('app="x"', "x", ""))
        change = {"metadata": {"labels": {"app": "y", "tier": "gold"}, "annotations": {"note": "hi"}}}
        self.assertEqual(self.agent.patch(f"{PODS}/db", change, MERGE).code, 200)
        self.wait_for_file("labels", 'app="y"\ntier="gold"')
        self.assertEqual((self.file("one"), self.file("notes")), ("y", 'note="hi"'))
        self.assertEqual(self.file("memory"), "64")
        self.run_words("resize pod db --memory 128Mi --wait")
        self.wait_for_file("memory", "128")

    def test_without_its_gate_the_field_is_let_in_unchecked_and_written(self):
        wrong = {"resourceFieldRef": {"containerName": "nobody", "resource": "assigned.cpuset", "divisor": "2"}}
        self.start(asking("db", 2, [item("cpus", **wrong), item("own", **amount("assigned.memset"))]))
        self.assertEqual(self.file("cpus"), "")

    def test_a_variable_is_refused(self):
        body = pod("db", 2)
        body["spec"]["containers"][0]["env"] = [{"name": "CPUS", "valueFrom": amount("assigned.cpuset")}]
        answer = self.agent.ask("POST", PODS, body)
        self.assertEqual(answer.code, 422)
        self.assertIn("an environment variable could never change; ask for it in a downwardAPI volume", answer.text)

    def test_a_directory_that_cannot_be_is_refused_when_created_and_when_changed(self):
        for directory in ("/", "etc", "/a/../b"):
            body = pod("db", 2, annotations={"corehold.dev/podinfo": directory})
            self.assertEqual(self.agent.ask("POST", PODS, body).code, 422, directory)
        self.start(pod("db", 2))
        change = {"metadata": {"annotations": {"corehold.dev/podinfo": "/"}}}
        self.assertEqual(self.agent.patch(f"{PODS}/db", change, MERGE).code, 422)


class Gate(Told):
    config = delayed(FAST, gate=True)

    def test_with_its_gate_the_field_is_checked(self):
        wrong = {"resourceFieldRef": {"containerName": "nobody", "resource": "assigned.cpuset"}}
        answer = self.agent.ask("POST", PODS, asking("db", 2, [item("cpus", **wrong)]))
        self.assertEqual(answer.code, 422)
        self.assertIn('containerName: Not found: \\"nobody\\"', answer.text)
        self.start(asking("db", 2, [item("cpus", **amount("assigned.cpuset"))]))
        self.assertEqual(self.file("cpus"), "0-1")


class Countdown(Told):
    delay = 4
    config = delayed(f"{delay}s")

    def setUp(self):
        super().setUp()
        self.create("db", 2)
        self.grow()

    def grow(self):
        """Also out of a delay, which is then over."""
        self.resize("db", 6)
        self.settled("db")

    def until_seen(self, attempt):
        """What the attempt gives once it has seen a delay's time; each time with CPUs to lose."""
        deadline = time.monotonic() + DEADLINE
        while True:
            seen = attempt()
            if seen is not None:
                return seen
            self.assertLess(time.monotonic(), deadline, "no delay lasts until it is looked at")
            self.grow()

    def waiting(self, timeout):
        """`corehold resize --wait`, and its first line is read."""
        process = subprocess.Popen(
            self.command(f"resize pod db --cpu 2 --wait --timeout {timeout}"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "pod default/db asked for: main cpu 6 -> 2\n")
        return process

    def assert_shown_in_delay(self, words, before, after):
        """What is shown says what is left of the delay between these two texts."""
        def attempt():
            self.run_words("resize pod db --cpu 2")
            shown = self.run_words(words)
            self.assertRegex(shown, f"{before}(?: in {LEFT})?{after}")
            return True if re.search(f"{before} in {LEFT}{after}", shown) else None

        self.grow()
        with self.agent.held_delays():
            self.until_seen(attempt)

    def test_is_in_every_table(self):
        self.assert_shown_in_delay("get cpus", r"default/db +main +0-5 +0-1 +0-1", " ")
        self.assert_shown_in_delay("get pods", r"default +db .* 0-5 -> 0-1", " ")
        self.assert_shown_in_delay("describe pod db", r"pending +0-1 .* will be left; 2-5 go", r"\n")

    def test_marks_what_leaves_in_every_picture(self):
        with self.agent.held_delays():
            self.run_words("resize pod db --cpu 2")
            wide = self.run_words("get cpus -o wide")
            picture = self.run_words("get cpus -o svg")
        self.assertIn("AA AA AA\n", wide)
        self.assertIn("-- --\n", wide)
        self.assertIn("- below: leaving, to be given up", wide)
        self.assertIn("leaving: to be given up", picture)
        self.assertIn("leaving 2-5", picture)

    def test_is_told_once_where_lines_cannot_change(self):
        def attempt():
            with self.agent.held_delays():
                process = self.waiting(DEADLINE)
                told = process.stdout.readline()
                self.assertRegex(
                    told, f"^corehold: in progress: main has 0-5, of which 2-5 will leave(?: in {LEFT})?\\n$")
            self.assertEqual(process.stdout.read(), "pod default/db resized: main has 0-1\n")
            self.assertEqual(process.wait(timeout=DEADLINE), 0)
            return told if " in " in told.removeprefix("corehold: in progress") else None

        self.until_seen(attempt)

    def test_changes_in_its_line_on_a_terminal(self):
        def attempt():
            shown = self.shown_on_a_terminal()
            self.assertEqual(shown, sorted(shown, reverse=True), "it counts down")
            return shown if len(set(shown)) > 2 else None

        self.until_seen(attempt)

    def shown_on_a_terminal(self):
        """What was left of the delay, in the order in which a resize has shown it."""
        master, slave = pty.openpty()
        try:
            process = subprocess.Popen(
                self.command("resize pod db --cpu 2 --wait"), stdout=slave, stderr=slave, stdin=slave)
            os.close(slave)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            text = ""
            deadline = time.monotonic() + DEADLINE
            while "resized" not in text and time.monotonic() < deadline:
                if select.select([master], [], [], 0.1)[0]:
                    text += os.read(master, 4096).decode()
            self.assertEqual(process.wait(timeout=DEADLINE), 0)
        finally:
            os.close(master)
        found = re.findall(rf"\r\x1b\[Kin progress: main has 0-5, of which 2-5 will leave in ({LEFT})", text)
        self.assertIn(("\r\x1b[K" if found else "") + "pod default/db resized: main has 0-1", text)
        return [float(left.rstrip("s")) for left in found]

    def test_goes_on_with_a_new_agent_and_the_whole_delay_again(self):
        in_progress = f"^corehold: in progress: main has 0-5, of which 2-5 will leave(?: in {LEFT})?\\n$"
        with self.agent.held_delays():
            waiting = self.waiting(DEADLINE)
            self.assertRegex(waiting.stdout.readline(), in_progress)
            self.agent.stop(signal.SIGKILL)
            self.assertRegex(waiting.stdout.readline(), r"^corehold: .*; waits for the agent to come back\n$")
            began = time.monotonic()
            self.agent.start()
            self.assertRegex(waiting.stdout.readline(), r"^corehold: the agent is back after \S+\n$")
            self.assertRegex(waiting.stdout.readline(), in_progress)
        self.assertEqual(waiting.stdout.readline(), "pod default/db resized: main has 0-1\n")
        self.assertGreaterEqual(time.monotonic() - began, self.delay)
        self.assertEqual(waiting.wait(timeout=DEADLINE), 0)

    def test_an_agent_that_stays_away_is_waited_for_no_longer_than_asked(self):
        # Longer where the agent cannot be killed before the time is over.
        for seconds in (3, 30, DEADLINE):
            with self.agent.held_delays():
                waiting = self.waiting(seconds)
                waiting.stdout.readline()
                self.agent.stop(signal.SIGKILL)
                said = waiting.stdout.read()
            self.assertEqual(waiting.wait(timeout=2 * DEADLINE), 1)
            if "waits for the agent to come back" in said:
                break
            self.agent.start()
            self.grow()
        self.assertRegex(said, r"corehold: pod default/db is not resized after \S+: "
                               r"the agent does not answer; it stays asked for\n$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
