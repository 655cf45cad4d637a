# SPDX-License-Identifier: Apache-2.0
"""What a container is told and what it has, looked at again and again while it is resized.

Times are of the monotonic clock. Tests ask for order and for floors; how late something may be
is a question for the benchmarks. What must be so within a delay is looked at while delays are held.
"""

import json
import os
import threading
import time
from dataclasses import dataclass

from agent import DEADLINE, PODS, pod
from resize_api_test import CONFIG, ResizeTest, condition, is_settled, summary

VOLUME = "told"


def config(delay, **gates):
    """The resize tests' configuration, and a delay."""
    gates = {"CPUManagerPolicyAlphaOptions": "true", "DownwardAPIAssignedResources": "true", **gates}
    text = CONFIG.replace("cpuManagerPolicyOptions:\n", f'cpuManagerPolicyOptions:\n  scale-delay-time: "{delay}"\n')
    return text + "".join(f"  {gate}: {value}\n" for gate, value in gates.items())


def told_pod(name, cpus, **metadata):
    """A pod that asks to be told its CPUs, in the file assigned.cpuset of a volume."""
    made = pod(name, cpus, **metadata)
    item = {
        "path": "assigned.cpuset",
        "resourceFieldRef": {"containerName": "main", "resource": "assigned.cpuset"},
    }
    made["spec"]["volumes"] = [{"name": VOLUME, "downwardAPI": {"items": [item]}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": VOLUME, "mountPath": "/etc/podinfo"}]
    return made


@dataclass(frozen=True)
class Sight:
    """What the file said all the while that was looked where the container was."""

    begun: float
    told: str
    had: str
    ended: float


class Onlooker:
    """Reads the file of a pod, and then where its container runs, in a thread of its own.

    Neither goes through the agent, so that both can be seen while it is not there.
    """

    def __init__(self, root, uid):
        self.path = os.path.join(root, "podinfo", uid, VOLUME, "assigned.cpuset")
        self.containers = os.path.join(root, "simulated.json")
        self.uid = uid
        self.seen = []
        self.trouble = None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def run(self):
        try:
            while not self.ends.is_set():
                sight = self.look()
                if sight is not None:
                    self.seen.append(sight)
                time.sleep(0.004)
        except (OSError, ValueError, StopIteration) as trouble:  # told by whoever waits for it
            self.trouble = trouble

    def told(self):
        with open(self.path, encoding="ascii") as file:
            return file.read()

    def look(self):
        """None: the file has changed meanwhile."""
        begun = time.monotonic()
        told = self.told()
        with open(self.containers, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        # A journal: what its last line about the container says of the CPUs is so.
        had = next(c["cpus"] for c in reversed(lines) if c["pod"] == self.uid and "cpus" in c)
        return Sight(begun, told, had, time.monotonic()) if self.told() == told else None

    def wait(self, condition, what):
        """The first sight that is as wanted."""
        deadline = time.monotonic() + DEADLINE
        index = 0
        while True:
            assert self.trouble is None, self.trouble
            while index < len(self.seen):
                if condition(self.seen[index]):
                    return self.seen[index]
                index += 1
            assert time.monotonic() < deadline, f"not seen: {what}; seen: {self.turns()}"
            time.sleep(0.004)

    def turns(self):
        """(told, had), each time that one of them changed."""
        found = []
        for sight in list(self.seen):
            if not found or found[-1] != (sight.told, sight.had):
                found.append((sight.told, sight.had))
        return found

    def last_told(self, told):
        """When a read began, at the latest, that still found this."""
        return max(sight.begun for sight in self.seen if sight.told == told)

    def first_had(self, had):
        """When it had been seen, at the earliest, that the container has this."""
        return min(sight.ended for sight in self.seen if sight.had == had)


class DelayTest(ResizeTest):
    """A test on an agent with a delay, in seconds."""

    delay = 0.5
    config = config("500ms")

    def create_told(self, name, cpus, grown=None, **metadata):
        """Its UID; grown to so many CPUs afterwards, so that it has some to lose."""
        answer = self.agent.ask("POST", PODS, told_pod(name, cpus, **metadata))
        self.assertEqual(answer.code, 201, answer.text)
        self.agent.wait_for(
            f"{PODS}/{name}", lambda a: a.json["status"]["phase"] == "Running" and is_settled(a.json)
        )
        if grown:
            self.resize(name, grown)
            self.settled(name)
        return answer.json["metadata"]["uid"]

    def look_at(self, uid):
        look = self.enterContext(Onlooker(self.agent.root, uid))
        look.wait(lambda _: True, "anything")
        return look

    def holder(self, name):
        found = self.agent.get("/apis/corehold.dev/v1alpha1/cpus").json["containers"]
        return next(c for c in found if c["pod"] == name)

    def shown(self, name):
        return self.agent.get(f"{PODS}/{name}").json

    def assert_delayed(self, look, before, after):
        """Told before it was taken, and no earlier than the delay after the last that was told otherwise."""
        self.assertGreaterEqual(look.first_had(after) - look.last_told(before), self.delay)

    def assert_in_delay(self, name, wanted, had):
        """Granted and not yet there, and said to be so. Delays are held."""
        self.assertEqual(summary(self.shown(name)), (wanted, wanted, had, "", "InProgress"))
        self.assertIsNotNone(condition(self.shown(name), "PodResizeInProgress"))
