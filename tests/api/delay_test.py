#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Told before taken, on a real agent in real time: scenarios 1 to 5 of KEP-6122, and what else delays do."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from agent import PODS
from delay import DelayTest, config
from resize_api_test import condition, summary

COREHOLD = os.environ["COREHOLD"]


class Scenarios(DelayTest):
    """By the names of the KEP's test table. What is done within a delay is done while delays are held."""

    delay = 1.5
    config = config("1500ms")

    def test_1_validate_scale_down_delay(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        self.assertEqual(self.shown("db")["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"], "6")
        with self.agent.held_delays():
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
            self.assert_in_delay("db", "4", "6")
            holder = self.holder("db")
            self.assertEqual((holder["assigned"], holder["pending"], holder["promised"]), ("0-5", "0-3", "0-1"))
        shown = self.settled("db")
        look.wait(lambda s: s.had == "0-3", "0-3 are left")
        self.assertEqual(look.turns(), [("0-5", "0-5"), ("0-3", "0-5"), ("0-3", "0-3")])
        self.assert_delayed(look, "0-5", "0-3")
        self.assertEqual(summary(shown), ("4", "4", "4", "", ""))
        self.assertEqual(self.assigned("db"), "0-3")
        found = self.agent.get("/api/v1/events?fieldSelector=involvedObject.name%3Ddb").json["items"]
        reasons = [e["reason"] for e in found]
        self.assertLess(reasons.index("ScaleDelayStarted"), reasons.index("ScaleDelayTimerFired"))

    def test_2_resource_allocation_blocking(self):
        one = self.look_at(self.create_told("one", 2, grown=4))
        two = self.look_at(self.create_told("two", 2))
        self.assertEqual((self.assigned("one"), self.assigned("two")), ("0-3", "4-5"))
        with self.agent.held_delays():
            self.resize("one", 2)
            one.wait(lambda s: s.told == "0-1", "one is told that 0-1 stay")
            self.resize("two", 4)
            waits = self.pending("two", "Deferred")
            self.assertEqual(summary(waits), ("4", "2", "2", "Deferred", ""))
            self.assert_in_delay("one", "2", "4")
        self.settled("two")
        self.settled("one")
        one.wait(lambda s: s.had == "0-1", "0-1 are left to one")
        taken = two.wait(lambda s: s.had == "2-5", "two has the CPUs")
        self.assertEqual(one.turns(), [("0-3", "0-3"), ("0-1", "0-3"), ("0-1", "0-1")])
        self.assert_delayed(one, "0-3", "0-1")
        self.assertGreaterEqual(taken.ended - one.last_told("0-3"), self.delay)
        # Never both: each sight of two with the CPUs ends after one was last seen with them.
        last = max(s.begun for s in one.seen if s.had == "0-3")
        self.assertGreater(taken.ended, last)

    def test_3_validate_scale_up_before_timer_expiry(self):
        look = self.look_at(self.create_told("db", 2, grown=4))
        with self.agent.held_delays():
            self.resize("db", 2)
            look.wait(lambda s: s.told == "0-1", "told that 0-1 stay")
            self.resize("db", 6)
            shown = self.settled("db")
            look.wait(lambda s: s.told == "0-5", "told that it has grown")
        self.assertEqual(summary(shown), ("6", "6", "6", "", ""))
        self.assertIsNone(self.holder("db").get("pending"))
        self.assertNotIn("0-1", {s.had for s in look.seen}, "what was pending is forgotten")
        self.assertEqual((look.turns()[0], look.turns()[-1]), (("0-3", "0-3"), ("0-5", "0-5")))
        # The old timer finds nothing to do.
        time.sleep(2 * self.delay)
        self.assertEqual(look.turns()[-1], ("0-5", "0-5"))

    def test_4_validate_repeated_scale_down_before_timer_expiry(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        with self.agent.held_delays():
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
            self.resize("db", 2)
            look.wait(lambda s: s.told == "0-1", "told that 0-1 stay")
        shown = self.settled("db")
        look.wait(lambda s: s.had == "0-1", "0-1 are left")
        self.assertEqual(look.turns(), [("0-5", "0-5"), ("0-3", "0-5"), ("0-1", "0-5"), ("0-1", "0-1")])
        self.assert_delayed(look, "0-3", "0-1")
        self.assertEqual(summary(shown), ("2", "2", "2", "", ""))

    def test_4_a_smaller_scale_down_starts_the_delay_again(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        with self.agent.held_delays():
            self.resize("db", 2)
            look.wait(lambda s: s.told == "0-1", "told that 0-1 stay")
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
        self.settled("db")
        look.wait(lambda s: s.had == "0-3", "0-3 are left")
        self.assertEqual(look.turns(), [("0-5", "0-5"), ("0-1", "0-5"), ("0-3", "0-5"), ("0-3", "0-3")])
        self.assert_delayed(look, "0-1", "0-3")

    def test_5_validate_kubelet_restart_before_timer_expiry(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        self.restart_in_delay(look, times=1)

    def test_5_killed_twice_in_one_delay(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        self.restart_in_delay(look, times=2)

    def restart_in_delay(self, look, times):
        """Each agent says the same and begins the delay anew."""
        with self.agent.held_delays():
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
            for _ in range(times):
                self.agent.stop(signal.SIGKILL)
                self.assertEqual(look.turns(), [("0-5", "0-5"), ("0-3", "0-5")])
                logged = len(self.agent.log())
                started = time.monotonic()
                self.agent.start()
                self.assertEqual(self.holder("db")["pending"], "0-3")
                self.assert_in_delay("db", "4", "6")
        shown = self.settled("db")
        look.wait(lambda s: s.had == "0-3", "0-3 are left")
        self.assertEqual(look.turns(), [("0-5", "0-5"), ("0-3", "0-5"), ("0-3", "0-3")])
        self.assertGreaterEqual(look.first_had("0-3") - started, self.delay, "the full delay")
        self.assertEqual(summary(shown), ("4", "4", "4", "", ""))
        self.assertEqual(self.agent.log()[logged:].count("event=ScaleDelayStarted"), 1)

    def test_a_pod_that_is_deleted_does_not_wait(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        with self.agent.held_delays():
            self.resize("db", 4)
            look.wait(lambda s: s.told == "0-3", "told that 0-3 stay")
            look.ends.set()
            self.assertEqual(self.agent.ask("DELETE", f"{PODS}/db?gracePeriodSeconds=0").code, 200)
            self.agent.wait_for(f"{PODS}/db", lambda a: a.code == 404)
            self.assertEqual(self.metric("corehold_scale_delays_pending"), 0)


class Delays(unittest.TestCase):
    """0 s, 500 ms, 5 s and 10 s: an agent each, all at the same time."""

    def test_the_delay_is_what_was_asked_for(self):
        begun = []
        for text, seconds in (("0s", 0), ("500ms", 0.5), ("5s", 5), ("10s", 10)):
            test = DelayTest()
            test.config, test.delay = config(text), seconds
            test.setUp()
            self.addCleanup(test.doCleanups)
            begun.append((test, test.look_at(test.create_told("db", 2, grown=6))))
        for test, _ in begun:
            test.resize("db", 4)
        for test, look in begun:
            test.settled("db")
            look.wait(lambda s: s.had == "0-3", "0-3 are left")
            test.assert_delayed(look, "0-5", "0-3")
            self.assertNotIn(("0-5", "0-3"), look.turns(), "taken before it was told")


class BadValues(unittest.TestCase):
    """At the start of an agent: which option, what is wrong, what to write."""

    def start(self, text):
        with tempfile.TemporaryDirectory(prefix="corehold-delay-") as root:
            path = os.path.join(root, "node.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return subprocess.run(
                [COREHOLD, "agent", "--simulate", "core:4 pu:2", "--root", root, "--config", path],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)

    def test_every_bad_value_is_refused(self):
        for value, why in (
            ("", "has no unit of seconds or milliseconds"),
            ("5", "has no unit of seconds or milliseconds"),
            ("1m", "has no unit of seconds or milliseconds"),
            ("5s ", "has no unit of seconds or milliseconds"),
            ("s", "is not a duration"),
            ("ms", "is not a duration"),
            ("five s", "is not a duration"),
            ("1e1s", "is not a duration"),
            ("0x5s", "is not a duration"),
            (" 5s", "is not a duration"),
            ("+5s", "is not a duration"),
            ("-1s", "is negative"),
            ("-1ms", "is negative"),
            ("10.001s", "is longer than 10s"),
            ("10001ms", "is longer than 10s"),
            ("11s", "is longer than 10s"),
            ("99999999999999999999s", "is longer than 10s"),
            ("0.5ms", "is finer than a millisecond"),
        ):
            with self.subTest(value):
                done = self.start(config(value))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f'bad value for option "scale-delay-time": "{value}" {why}; write 0s to 10s', done.stdout)

    def test_gates_that_it_needs(self):
        off = config("5s").replace("InPlacePodVerticalScalingExclusiveCPUs: true",
                                   "InPlacePodVerticalScalingExclusiveCPUs: false")
        done = self.start(off)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('option "scale-delay-time" is 5s but feature gate InPlacePodVerticalScalingExclusiveCPUs'
                      ' is off; switch it on or set the option to 0s', done.stdout)
        done = self.start(config("5s", CPUManagerPolicyAlphaOptions="false"))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('CPU Manager Policy Alpha-level Options not enabled, but option "scale-delay-time" provided',
                      done.stdout)


class Bounds(DelayTest):
    """The smallest and the largest are taken: Delays has them; this is the smallest that delays."""

    delay = 0.001
    config = config("1ms")

    def test_a_millisecond(self):
        look = self.look_at(self.create_told("db", 2, grown=6))
        self.resize("db", 4)
        self.settled("db")
        look.wait(lambda s: s.had == "0-3", "0-3 are left")
        self.assert_delayed(look, "0-5", "0-3")
        self.assertIsNone(condition(self.shown("db"), "PodResizeInProgress"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
