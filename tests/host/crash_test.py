#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the agent at 200 random moments, with pods coming and going.

Most kills are aimed at the moment in which the checkpoint has just been replaced and
nothing that depends on it has been done; how many hit is counted from what the machine
shows afterwards. After every restart: no container restarted, no CPU lost or doubled, the
checkpoint valid.
"""
import http.client
import os
import random
import threading
import time
import unittest

from node import (NodeTest, Refused, Watch, eventually, online_cpus, parse_cpus, pod, start_time)

KILLS = int(os.environ.get("COREHOLD_KILLS", "200"))
SEED = int(os.environ.get("COREHOLD_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
NEEDED = 0.30  # of the kills between persist and apply
AIMED = 0.9  # of the kills, at that moment
KEEPERS = 6  # shared containers that live through all of it


class Traffic(threading.Thread):
    """Creates and deletes pods until it is told to stop. An agent that dies is expected."""

    def __init__(self, node, dice):
        super().__init__(daemon=True)
        self.node = node
        self.dice = dice
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set():
            name = f"p{self.dice.randrange(4)}"
            try:
                if self.dice.random() < 0.5:
                    exclusive = 1 if self.dice.random() < 0.7 else None
                    self.node.create(pod(name, ["sleep", "1000"], cpus=exclusive))
                else:
                    self.node.delete(name, grace=0)
            except (OSError, http.client.HTTPException, Refused):
                if not self.node.runs():
                    return
            time.sleep(0.001)


class TheAgent(NodeTest):
    def test_loses_nothing_when_it_is_killed_at_any_moment(self):
        print(f"seed {SEED}, {KILLS} kills", flush=True)
        dice = random.Random(SEED)
        node = self.node
        node.start()
        lives = {}
        for keeper in (f"keeper-{number}" for number in range(KEEPERS)):
            node.create(pod(keeper, ["sleep", "100000"]))
            uid = node.running(keeper)
            lives[keeper] = [(pid, start_time(pid)) for pid in node.pids(uid)]
        between = 0
        begun = time.monotonic()
        for kill in range(1, KILLS + 1):
            traffic = Traffic(node, random.Random(dice.random()))
            watch = Watch(node.root, "cpu_manager_state")
            traffic.start()
            if dice.random() < AIMED:
                end = time.monotonic() + 2.0
                passed_over = dice.randrange(4)
                while time.monotonic() < end:
                    if watch.fired():
                        if passed_over == 0:
                            break
                        passed_over -= 1
            else:
                time.sleep(dice.random() * 0.2)
            node.kill()
            watch.close()
            traffic.stopped.set()
            traffic.join()
            between += self.is_between()
            node.verify_checkpoint()
            running = self.running_now()
            node.start()
            self.check_after(running, lives)
            if kill % 20 == 0:
                print(f"{kill} kills, {between} between persist and apply, "
                      f"{time.monotonic() - begun:.0f} s", flush=True)
        share = between / KILLS
        print(f"{KILLS} kills, {between} ({share:.0%}) between persist and apply", flush=True)
        self.assertGreaterEqual(share, NEEDED)

    def is_between(self):
        """Whether the checkpoint says something that the machine does not show yet."""
        saved = self.node.checkpoint()
        shared = parse_cpus(saved["defaultCpuSet"])
        holders = {(uid, name) for uid, containers in (saved.get("entries") or {}).items()
                   for name in containers}
        for uid, name in holders:
            pids = self.node.pids(uid, name)
            if not pids or self.node.container_cpus(uid, name) != parse_cpus(
                    saved["entries"][uid][name]):
                return True
        for uid, name in self.containers_on_disk() - holders:
            cpus = self.node.container_cpus(uid, name)
            if cpus and cpus != shared:
                return True
        return False

    def containers_on_disk(self):
        top = os.path.join(self.node.root, "containers")
        return {(uid, name) for uid in os.listdir(top)
                if os.path.isdir(os.path.join(top, uid))
                for name in os.listdir(os.path.join(top, uid))}

    def running_now(self):
        """Processes by container while no agent is there to change anything."""
        found = {}
        for uid, name in self.containers_on_disk():
            pids = self.node.pids(uid, name)
            if pids:
                found[(uid, name)] = sorted((pid, start_time(pid)) for pid in pids)
        return found

    def check_after(self, running, lives):
        node = self.node
        items = eventually(self.settled, "every pod runs or waits")
        known = {item["metadata"]["uid"]: item for item in items}
        for (uid, name), processes in running.items():
            if uid not in known or known[uid]["metadata"].get("deletionTimestamp"):
                continue  # it was being deleted
            now = sorted((pid, start_time(pid)) for pid in node.pids(uid, name))
            self.assertEqual(now, processes, f"{known[uid]['metadata']['name']} was restarted")
        for item in items:
            for status in item["status"].get("containerStatuses", []):
                self.assertEqual(status["restartCount"], 0, item["metadata"]["name"])
        for name, processes in lives.items():
            for pid, born in processes:
                self.assertEqual(start_time(pid), born, f"{name} was restarted")
        self.check_books()
        shown = node.cpus()
        shared = parse_cpus(shown["shared"])
        held = {(holder["pod"], holder["container"]): parse_cpus(holder["assigned"])
                for holder in shown["containers"] if holder.get("assigned")}
        for item in items:
            if item["status"]["phase"] != "Running":
                continue
            wanted = held.get((item["metadata"]["name"], "main"), shared)
            uid = item["metadata"]["uid"]
            eventually(lambda u=uid, w=wanted: self.node.container_cpus(u) == w,
                       f"{item['metadata']['name']} runs on {sorted(wanted)}")

    def settled(self):
        items = self.node.pods()
        for item in items:
            if item["metadata"].get("deletionTimestamp"):
                return None
            scheduled = [condition for condition in item["status"].get("conditions", [])
                         if condition["type"] == "PodScheduled"]
            waits = scheduled and scheduled[0]["status"] == "False"
            if item["status"]["phase"] != "Running" and not waits:
                return None
        return items


if __name__ == "__main__":
    unittest.main(verbosity=2)
