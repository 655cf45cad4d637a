#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scenarios 6 to 9 of KEP-6122 on a real agent: gates switched off and on, agents without the feature.

The gate DownwardAPIAssignedResources is the API's: off, a pod with assigned.cpuset is admitted
without a check of it; the node writes the file either way. A pod's volumes never change, so what the
KEP calls patching the pod is to delete it and create it again.
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from agent import PODS
from delay import DelayTest, config, told_pod
from resize_api_test import CONFIG, condition, summary

COREHOLD = os.environ["COREHOLD"]
GATE_ON = config("1s")
GATE_OFF = config("1s", DownwardAPIAssignedResources="false")
# As before the feature: no delay, no resize of exclusive CPUs, no assigned.cpuset, nothing declared.
WITHOUT = CONFIG.replace("ExclusiveCPUs: true", "ExclusiveCPUs: false") + "  NodeDeclaredFeatures: false\n"


class Gates(DelayTest):
    delay = 1

    def restart(self, text, number=signal.SIGTERM):
        """Another agent with this configuration on the same root."""
        self.agent.stop(number)
        with open(self.agent.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.agent.start()

    def scale_down(self, look, name, cpus, before, after):
        """As scenario 1."""
        self.resize(name, cpus)
        look.wait(lambda s: s.told == after, f"told that {after} stay")
        self.settled(name)
        look.wait(lambda s: s.had == after, f"{after} are left")
        self.assertNotIn((before, after), look.turns(), "taken before it was told")
        self.assert_delayed(look, before, after)

    def mistaken(self, name):
        """Whether a pod with a mistake in assigned.cpuset is refused."""
        made = told_pod(name, 2)
        made["spec"]["volumes"][0]["downwardAPI"]["items"][0]["resourceFieldRef"]["divisor"] = "2"
        answer = self.agent.ask("POST", f"{PODS}?dryRun=All", made)
        self.assertIn(answer.code, (201, 422), answer.text)
        return answer.code == 422

    def running(self, name):
        return self.shown(name)["status"]["phase"] == "Running"


class Rollback(Gates):
    config = GATE_ON

    def test_6_feature_gate_downward_api_assigned_resources_rollback(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        before = self.shown("db")["status"]["containerStatuses"][0]
        self.assertTrue(self.mistaken("other"), "checked with the gate on")
        self.scale_down(look, "db", 4, "0-5", "0-3")
        self.restart(GATE_OFF)
        self.assertTrue(self.running("db"))
        self.assertFalse(self.mistaken("other"), "not checked with the gate off")
        self.scale_down(look, "db", 2, "0-3", "0-1")
        after = self.shown("db")["status"]["containerStatuses"][0]
        for field in ("state", "restartCount", "containerID"):
            self.assertEqual(after[field], before[field])
        self.assertEqual({s.told for s in look.seen}, {"0-5", "0-3", "0-1"}, "never an error or an empty file")


class Rollout(Gates):
    config = GATE_OFF

    def test_7_feature_gate_downward_api_assigned_resources_rollout(self):
        early = self.look_at(self.create_told("early", 2, grown=4))
        self.create("plain", 2)
        self.scale_down(early, "early", 2, "0-3", "0-1")
        self.restart(GATE_ON)
        self.assertTrue(self.running("early") and self.running("plain"))
        # The pod without the volume gets one by being created again.
        self.assertEqual(self.agent.ask("DELETE", f"{PODS}/plain?gracePeriodSeconds=0").code, 200)
        self.agent.wait_for(f"{PODS}/plain", lambda a: a.code == 404)
        plain = self.look_at(self.create_told("plain", 2, grown=4))
        had = self.assigned("plain")
        self.resize("plain", 2)
        self.settled("plain")
        left = self.assigned("plain")
        plain.wait(lambda s: s.had == left, f"{left} are left")
        self.assert_delayed(plain, had, left)
        # One from before goes on being told.
        self.resize("early", 4)
        self.settled("early")
        had = self.assigned("early")
        early.wait(lambda s: s.begun > plain.seen[-1].ended and s.told == had, "early is told")
        self.scale_down(self.look_at(self.shown("early")["metadata"]["uid"]), "early", 2, had, "0-1")


class VersionRollback(Gates):
    config = GATE_ON

    def convert(self):
        done = subprocess.run(
            [COREHOLD, "checkpoint", "convert", os.path.join(self.agent.root, "cpu_manager_state"), "--to", "v2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_8_kubelet_version_rollback(self):
        uid = self.create_told("db", 2, grown=6)
        look = self.look_at(uid)
        with self.agent.held_delays():
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
            self.restart(WITHOUT, signal.SIGKILL)
        refused = self.pending("db", "Infeasible")
        self.assertTrue(self.running("db"))
        self.assertIn("InPlacePodVerticalScalingExclusiveCPUs", condition(refused, "PodResizePending")["message"])
        holder = self.holder("db")
        self.assertEqual((holder["assigned"], holder["promised"], holder.get("pending")), ("0-5", "0-1", None))
        self.assertEqual({s.had for s in look.seen}, {"0-5"}, "no CPU moves")
        # Patched without the volume, the pod runs.
        old = self.convert()
        self.assertEqual(set(old), {"policyName", "defaultCpuSet", "entries", "checksum"})
        self.assertEqual(old["entries"][uid], {"main": "0-5"})
        self.agent.ask("DELETE", f"{PODS}/db?gracePeriodSeconds=0")
        look.ends.set()
        self.agent.wait_for(f"{PODS}/db", lambda a: a.code == 404)
        self.create("db", 2)
        self.assertTrue(self.running("db"))


class VersionRollout(Gates):
    config = WITHOUT

    def test_9_kubelet_version_rollout(self):
        self.create("db", 2)
        self.resize("db", 4)
        self.pending("db", "Infeasible")
        self.resize("db", 2)
        self.restart(GATE_ON)
        self.assertTrue(self.running("db"))
        self.assertEqual(self.assigned("db"), "0-1")
        # Upgraded in place it can be resized at once, and waits out its delay, though it is told by nobody.
        self.resize("db", 6)
        self.assertEqual(summary(self.settled("db")), ("6", "6", "6", "", ""))
        self.agent.ask("DELETE", f"{PODS}/db?gracePeriodSeconds=0")
        self.agent.wait_for(f"{PODS}/db", lambda a: a.code == 404)
        look = self.look_at(self.create_told("db", 2, grown=6))
        self.scale_down(look, "db", 4, "0-5", "0-3")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
