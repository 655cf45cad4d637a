#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pods and people are told of a shrink with a delay, by a real agent in real time."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest

from agent import MERGE, PODS, pod
from resize_api_test import CONFIG, ResizeTest, cpu

COREHOLD = os.environ["COREHOLD"]
FAST = "0.5s"


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
        for _ in range(400):
            if self.file(name, volume) == expected:
                return
            time.sleep(0.01)
        self.assertEqual(self.file(name, volume), expected)

    def command(self, words):
        return [COREHOLD, *words.split(), "--root", self.agent.root]

    def run_words(self, words):
        done = subprocess.run(
            self.command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}")
        return done.stdout


class Files(Told):
    def test_the_file_says_what_stays_before_the_rest_is_taken_and_what_came_when_it_can_be_used(self):
        self.start(asking("db", 2, [item("cpus", **amount("assigned.cpuset")), item("n", **amount("limits.cpu"))]))
        self.assertEqual((self.file("cpus"), self.file("n")), ("0-1", "2"))
        self.resize("db", 6)
        self.settled("db")
        self.assertEqual((self.file("cpus"), self.file("n")), ("0-5", "6"))
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
    config = delayed("4s")

    def setUp(self):
        super().setUp()
        self.create("db", 2)
        self.resize("db", 6)
        self.settled("db")

    def test_is_in_every_view(self):
        self.run_words("resize pod db --cpu 2")
        self.assertRegex(self.run_words("get cpus"), r"default/db +main +0-5 +0-1 +0-1 in [34]s ")
        self.assertRegex(self.run_words("get pods"), r"default +db .* 0-5 -> 0-1 in [234]s ")
        self.assertRegex(self.run_words("describe pod db"), r"pending +0-1 .* will be left; 2-5 go in [234]s\n")
        wide = self.run_words("get cpus -o wide")
        self.assertIn("AA AA AA\n", wide)
        self.assertIn("-- --\n", wide)
        self.assertIn("- below: leaving, to be given up", wide)
        picture = self.run_words("get cpus -o svg")
        self.assertIn("leaving: to be given up", picture)
        self.assertIn("leaving 2-5", picture)

    def test_is_told_once_where_lines_cannot_change(self):
        text = self.run_words("resize pod db --cpu 2 --wait")
        self.assertRegex(
            text,
            r"^pod default/db asked for: main cpu 6 -> 2\n"
            r"corehold: in progress: main has 0-5, of which 2-5 will leave in [34]s\n"
            r"pod default/db resized: main has 0-1\n$")

    def test_changes_in_its_line_on_a_terminal(self):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            self.command("resize pod db --cpu 2 --wait"), stdout=slave, stderr=slave, stdin=slave)
        os.close(slave)
        self.addCleanup(os.close, master)
        self.addCleanup(process.kill)
        text = ""
        deadline = time.monotonic() + 30
        while "resized" not in text and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                text += os.read(master, 4096).decode()
        self.assertEqual(process.wait(timeout=300), 0)
        shown = re.findall(r"\r\x1b\[Kin progress: main has 0-5, of which 2-5 will leave in (\S+)", text)
        self.assertEqual(shown, sorted(shown, reverse=True), "it counts down")
        self.assertGreater(len(set(shown)), 2, shown)
        self.assertIn("\r\x1b[Kpod default/db resized: main has 0-1", text)

    def test_goes_on_with_a_new_agent_and_the_whole_delay_again(self):
        waiting = subprocess.Popen(
            self.command("resize pod db --cpu 2 --wait --timeout 60"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(waiting.stdout.close)
        self.addCleanup(waiting.kill)
        waiting.stdout.readline()
        self.assertRegex(
            waiting.stdout.readline(),
            r"^corehold: in progress: main has 0-5, of which 2-5 will leave in [34]s\n$")
        time.sleep(1)
        self.agent.stop(signal.SIGKILL)
        self.assertRegex(waiting.stdout.readline(), r"^corehold: .*; waits for the agent to come back\n$")
        self.agent.start()
        began = time.monotonic()
        self.assertRegex(waiting.stdout.readline(), r"^corehold: the agent is back after \S+\n$")
        self.assertRegex(waiting.stdout.readline(), r"of which 2-5 will leave in [34]s\n$")
        self.assertEqual(waiting.stdout.readline(), "pod default/db resized: main has 0-1\n")
        self.assertGreater(time.monotonic() - began, 3)
        self.assertEqual(waiting.wait(timeout=300), 0)

    def test_an_agent_that_stays_away_is_waited_for_no_longer_than_asked(self):
        waiting = subprocess.Popen(
            self.command("resize pod db --cpu 2 --wait --timeout 3"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(waiting.stdout.close)
        self.addCleanup(waiting.kill)
        waiting.stdout.readline()
        waiting.stdout.readline()
        self.agent.stop(signal.SIGKILL)
        self.assertTrue(waiting.stdout.read().endswith(
            "corehold: pod default/db is not resized after 3s: the agent does not answer; it stays asked for\n"))
        self.assertEqual(waiting.wait(timeout=300), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
