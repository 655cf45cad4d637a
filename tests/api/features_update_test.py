#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declared features (KEP-5328) and updates on the API of a real agent: resizes that no Corehold node
makes, and those left over from when a gate was on."""

import signal
import sys
import unittest

from agent import PODS, STRATEGIC, pod
from features_api_test import EXCLUSIVE, OFF, POD_LEVEL, FeaturesTest, config
from resize_api_test import condition


class PodLevelAndInitContainers(FeaturesTest):
    """Resizes that no Corehold node makes: refused by the API, or by the node that asks nothing."""

    config = config(EXCLUSIVE)

    def make(self):
        amounts = {"cpu": "2", "memory": "64Mi"}
        body = pod("db", 2)
        body["spec"]["initContainers"] = [
            {"name": "setup", "command": ["true"], "resources": {"limits": amounts, "requests": amounts}}
        ]
        self.create(body)
        self.running("db")

    def make_pod_level(self):
        body = pod("db", 2)
        body["spec"]["resources"] = {"limits": {"cpu": "4", "memory": "1Gi"}}
        self.create(body)
        self.running("db")

    def resize_init(self):
        amounts = {"cpu": "1"}
        return self.agent.patch(f"{PODS}/db/resize", {"spec": {"initContainers": [
            {"name": "setup", "resources": {"limits": amounts, "requests": amounts}}]}}, STRATEGIC)

    def resize_pod_level(self):
        amounts = {"cpu": "5"}
        return self.agent.patch(
            f"{PODS}/db/resize", {"spec": {"resources": {"limits": amounts, "requests": amounts}}}, STRATEGIC)

    def infeasible(self, answer, text):
        self.assertEqual(answer.code, 200, answer.text)
        shown = self.agent.wait_for(f"{PODS}/db", lambda a: condition(a.json, "PodResizePending")).json
        found = condition(shown, "PodResizePending")
        self.assertEqual(found["reason"], "Infeasible")
        self.assertIn(text, found["message"])

    def test_init_containers(self):
        self.make()
        self.refused(self.resize_init(), "InPlacePodVerticalScalingInitContainers")
        self.restart(config(EXCLUSIVE, off=OFF))
        self.infeasible(self.resize_init(), "init containers cannot be resized")

    def test_pod_level_resources(self):
        self.make_pod_level()
        self.refused(self.resize_pod_level(), POD_LEVEL)
        self.restart(config(EXCLUSIVE, off=OFF))
        self.infeasible(self.resize_pod_level(), "pods with pod-level resources cannot be resized")


class LeftOver(FeaturesTest):
    """A resize from when the gate was on, after a restart with the gate off."""

    config = config(EXCLUSIVE)

    def pending(self, name, reason):
        def is_so(answer):
            found = condition(answer.json, "PodResizePending")
            return found is not None and found["reason"] == reason

        return self.agent.wait_for(f"{PODS}/{name}", is_so).json

    def take_back(self, name, cpus):
        answer = self.resize(name, cpus)
        self.assertEqual(answer.code, 200, answer.text)
        shown = self.agent.wait_for(f"{PODS}/{name}", lambda a: condition(a.json, "PodResizePending") is None).json
        self.assertEqual(shown["spec"]["containers"][0]["resources"]["limits"]["cpu"], str(cpus))
        self.assertIsNone(condition(shown, "PodResizeInProgress"))

    def test_a_deferred_wish_is_infeasible_and_can_be_taken_back(self):
        self.create(pod("other", 6))
        self.create(pod("db", 2))
        self.running("other")
        self.running("db")
        self.assertEqual(self.resize("db", 8).code, 200)
        self.pending("db", "Deferred")
        self.restart(config())
        self.pending("db", "Infeasible")
        self.refused(self.resize("db", 6), EXCLUSIVE)
        # What does not touch the wish is not asked about.
        self.assertEqual(self.agent.patch(f"{PODS}/db", {"metadata": {"labels": {"a": "b"}}}).code, 200)
        self.assertEqual(self.agent.patch(f"{PODS}/db", {"spec": {"activeDeadlineSeconds": 900}}).code, 200)
        self.take_back("db", 2)
        self.refused(self.resize("db", 8), EXCLUSIVE)

    def test_a_shrink_in_its_delay_can_be_taken_back(self):
        delay = 'cpuManagerPolicyOptions:\n  scale-delay-time: "1s"\n'
        self.restart(config(EXCLUSIVE, "CPUManagerPolicyAlphaOptions", more=delay))
        self.create(pod("db", 2))
        self.running("db")
        self.assertEqual(self.resize("db", 6).code, 200)
        self.agent.wait_for(
            f"{PODS}/db", lambda a: a.json["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"] == "6"
        )
        with self.agent.held_delays():
            self.assertEqual(self.resize("db", 4).code, 200)
            self.agent.wait_for(f"{PODS}/db", lambda a: condition(a.json, "PodResizeInProgress"))
            self.restart(config(), signal.SIGKILL)
        self.pending("db", "Infeasible")
        self.take_back("db", 6)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
