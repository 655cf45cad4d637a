#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corehold resize against a real agent: what people type, see, and wait for."""

import os
import subprocess
import sys
import unittest

from agent import PODS, pod
from resize_api_test import ResizeTest

COREHOLD = os.environ["COREHOLD"]


def two_containers(name, one, two):
    body = pod(name, one)
    body["spec"]["containers"].append(
        {"name": "side", "command": ["sleep", "1000"], "resources": {"limits": {"cpu": str(two), "memory": "64Mi"}}}
    )
    return body


class ResizeCommand(ResizeTest):
    def line(self, words):
        return [COREHOLD, *words.split(), "--root", self.agent.root]

    def run_words(self, words, code=0):
        """What it prints, trouble too."""
        done = subprocess.run(self.line(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}")
        return done.stdout

    def begin(self, words):
        process = subprocess.Popen(self.line(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_waits_for_each_step_of_the_worked_example(self):
        self.create("web", 2)
        for cpus, expected in ((4, "0-3"), (6, "0-5")):
            text = self.run_words(f"resize pod web --cpu {cpus} --wait")
            self.assertTrue(text.endswith(f"pod default/web resized: main has {expected}\n"), text)
        text = self.run_words("resize pod web --cpu 8 --wait", 1)
        self.assertIn("corehold: pod default/web: Infeasible: container main of pod default/web: cannot grow", text)
        self.assertTrue(text.endswith("takes it back: corehold resize pod default/web -c main --cpu 6\n"), text)
        self.assertIn("  0-5 (resize Infeasible)  ", self.run_words("get pods"))
        self.assertEqual(self.assigned("web"), "0-5")
        text = self.run_words("resize pod web --cpu 4 --wait")
        self.assertTrue(text.endswith("pod default/web resized: main has 0-3\n"), text)
        text = self.run_words("resize pod default/web -c main --cpu 1 --wait", 1)
        self.assertIn("Infeasible: prohibitedCPUAllocationError: ", text)
        self.assertIn("\nresize    Infeasible: prohibitedCPUAllocationError: ", self.run_words("describe pod web"))
        text = self.run_words("resize pod web --cpu 2 --wait")
        self.assertTrue(text.endswith("pod default/web resized: main has 0-1\n"), text)
        self.assertNotIn("\nresize ", self.run_words("describe pod web"))

    def test_a_deferred_one_names_the_holder_and_ends_when_it_leaves(self):
        self.create("web", 2)
        self.create("batch", 2)
        late = self.run_words("resize pod web --cpu 6 --wait --timeout 1", 1)
        self.assertIn("it stays asked for\n", late)
        shown = self.run_words("describe pod web")
        self.assertIn("  granted   cpu 2, memory 64Mi\n", shown)
        self.assertIn("needs CPUs held by default/batch main 2-3", shown)
        waiting = self.begin("resize pod web --cpu 6 --wait")
        self.assertEqual(waiting.stdout.readline(), "pod default/web asked for: main cpu 2 -> 6\n")
        deferred = waiting.stdout.readline()
        self.assertTrue(deferred.startswith("corehold: Deferred: container main of pod default/web"), deferred)
        self.assertIn("held by default/batch main 2-3", deferred)
        self.run_words("delete pod batch --now")
        rest = waiting.stdout.read()
        self.assertTrue(rest.endswith("pod default/web resized: main has 0-5\n"), rest)
        self.assertEqual(waiting.wait(timeout=300), 0)
        wide = self.run_words("get cpus -o wide")
        self.assertIn("AA AA AA\n", wide)
        self.assertIn("++ ++\n", wide)
        self.assertIn("+ below: grown beyond what was promised", wide)

    def test_somebody_elses_wish_ends_the_waiting(self):
        self.create("web", 2)
        self.create("batch", 2)
        waiting = self.begin("resize pod web --cpu 6 --wait")
        waiting.stdout.readline()
        waiting.stdout.readline()
        self.run_words("resize pod web --cpu 4 --wait")
        self.assertIn("something else has been asked for since", waiting.stdout.read())
        self.assertEqual(waiting.wait(timeout=300), 1)

    def test_the_end_of_the_pod_ends_the_waiting(self):
        self.create("web", 2)
        self.create("batch", 2)
        waiting = self.begin("resize pod web --cpu 6 --wait")
        waiting.stdout.readline()
        waiting.stdout.readline()
        self.run_words("delete pod web --now")
        self.assertIn("has ended, or is about to", waiting.stdout.read())
        self.assertEqual(waiting.wait(timeout=300), 1)

    def test_containers_of_a_pod_swap_cpus_in_one_resize(self):
        self.assertEqual(self.agent.ask("POST", PODS, two_containers("web", 2, 2)).code, 201)
        self.agent.wait_for(f"{PODS}/web", lambda a: a.json["status"]["phase"] == "Running")
        self.run_words("resize pod web -c main --cpu 4 --wait")
        text = self.run_words("resize pod web -c main --cpu 2 -c side --cpu 4 --wait")
        self.assertIn("pod default/web asked for: main cpu 4 -> 2; side cpu 2 -> 4\n", text)
        self.assertRegex(text, r"pod default/web resized: main has \S+; side has \S+\n$")
        text = self.run_words("resize pod web --cpu 4", 2)
        self.assertIn("pod default/web has the containers main, side; say which with -c", text)

    def test_memory_and_shared_pods_are_resized_too(self):
        self.create("web", 2)
        text = self.run_words("resize pod web --memory 128Mi --wait")
        self.assertIn("main memory 64Mi -> 128Mi\n", text)
        body = pod("helper")
        body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
        self.assertEqual(self.agent.ask("POST", PODS, body).code, 201)
        self.agent.wait_for(f"{PODS}/helper", lambda a: a.json["status"]["phase"] == "Running")
        text = self.run_words("resize pod helper --cpu 250m --wait")
        self.assertEqual(
            text.splitlines()[-1], "pod default/helper resized", "it has no CPUs of its own to be told of"
        )

    def test_what_the_api_refuses_is_told_and_fails(self):
        self.create("web", 2)
        self.assertIn("not found", self.run_words("resize pod nobody --cpu 2", 1))
        body = pod("idle")
        self.assertEqual(self.agent.ask("POST", PODS, body).code, 201)
        text = self.run_words("resize pod idle --cpu 2", 1)
        self.assertIn("QOS", text.upper())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
