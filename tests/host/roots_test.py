#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents with one root and another, directories that are lost, backups that are restored.

The orders are random. Whatever happens, no CPU of a container is also another's, as the kernel
sees it, and an agent that does not start says which processes stand in the way.
"""
import os
import random
import re
import shutil
import signal
import unittest

from node import (DEADLINE, Node, NodeTest, allowed_cpus, eventually, our_cgroups, pod,
                  processes_with)

STEPS = int(os.environ.get("COREHOLD_STEPS", "20"))
SEED = int(os.environ.get("COREHOLD_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
SLEEP = ["sleep", "100000"]
CONTAINER = re.compile(r"/cpuset/corehold/[^/]+/[^/]+$|/corehold/(pods|shared)/[^/]+/[^/]+$")


def containers_of_machine():
    """The processes of each container that has some, by its cgroup with the cpuset."""
    found = {}
    for directory in our_cgroups():
        if not CONTAINER.search(directory) or not os.path.exists(
                os.path.join(directory, "cpuset.cpus")):
            continue
        try:
            with open(os.path.join(directory, "cgroup.procs"), encoding="ascii") as file:
                pids = [int(line) for line in file.read().split()]
        except FileNotFoundError:
            continue
        if pids:
            found[directory] = pids
    return found


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class OneMachine(NodeTest):
    """With two roots."""

    def setUp(self):
        super().setUp()
        self.nodes = [self.node, Node()]
        self.addCleanup(shutil.rmtree, self.nodes[1].base)
        self.nodes[1].root = os.path.join(self.node.base, "second")
        self.exclusive = set()  # uids of pods with a CPU of their own
        self.made = 0

    def leave(self):
        for node in self.nodes:
            if node.runs():
                node.kill()

        def ended():
            running = containers_of_machine()
            for pids in running.values():
                end(pids)
            return not running and not processes_with(self.node.base)
        eventually(ended, "all containers have ended")
        # An agent that has lost everything removes the empty cgroups.
        shutil.rmtree(self.node.root, ignore_errors=True)
        self.node.start()
        super().leave()

    def check(self):
        """No CPU of a container is another's."""
        cpus = {directory: set().union(*map(allowed_cpus, pids))
                for directory, pids in containers_of_machine().items()}
        for directory, held in cpus.items():
            if os.path.basename(os.path.dirname(directory)) not in self.exclusive:
                continue
            for other, used in cpus.items():
                if other != directory:
                    self.assertFalse(held & used, f"{directory} and {other} have {held & used}")

    # What can happen while no agent runs.

    def lose(self, node, dice):
        top = os.path.join(node.root, "containers")
        found = [os.path.join(top, uid, "main") for uid in (
            os.listdir(top) if os.path.isdir(top) else []) if not uid.startswith(".")]
        if not found or dice.random() < 0.4:
            shutil.rmtree(top, ignore_errors=True)
        elif dice.random() < 0.5:
            shutil.rmtree(dice.choice(found))
        else:
            directory = dice.choice(found)
            files = os.listdir(directory) if os.path.isdir(directory) else []
            if files:
                os.remove(os.path.join(directory, dice.choice(sorted(files))))

    def back_up(self, node, _):
        if os.path.isdir(node.root):
            shutil.rmtree(node.root + ".backup", ignore_errors=True)
            shutil.copytree(node.root, node.root + ".backup", symlinks=True,
                            ignore=shutil.ignore_patterns("*.sock"))

    def restore(self, node, _):
        if os.path.isdir(node.root + ".backup"):
            shutil.rmtree(node.root, ignore_errors=True)
            shutil.copytree(node.root + ".backup", node.root, symlinks=True)

    def restore_part(self, node, dice):
        """The store, the checkpoint or the records of containers alone, as they were."""
        backup = node.root + ".backup"
        if not os.path.isdir(backup) or not os.path.isdir(node.root):
            return
        part = dice.choice(["containers", "cpu_manager_state", "store.db"])
        for name in os.listdir(node.root):
            if name.startswith(part):
                path = os.path.join(node.root, name)
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.remove(path)
        for name in os.listdir(backup):
            if not name.startswith(part):
                continue
            path = os.path.join(backup, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(node.root, name), symlinks=True)
            else:
                shutil.copy2(path, os.path.join(node.root, name))

    # What an agent does while it runs.

    def starts(self, node):
        """False: it was refused, with the processes that it named ended since."""
        node.launch()
        said = self.refusal(node)
        if said is None:
            return True
        self.check()
        self.assertIn(node.root, said)
        named = re.search(r"kill -KILL ([0-9 ]+)", said)
        if "--recover" in said and (named is None or self.dice.random() < 0.7):
            node.launch("--recover")
            said = self.refusal(node)
            if said is None:
                self.recovered += 1
                return True
            named = re.search(r"kill -KILL ([0-9 ]+)", said)
        self.assertIsNotNone(named, said)
        pids = [int(number) for number in named.group(1).split()]
        living = [pid for group in containers_of_machine().values() for pid in group]
        self.assertTrue(set(pids) & set(living), said)
        self.check()
        end(pids)
        eventually(lambda: not set(pids) & {
            pid for group in containers_of_machine().values() for pid in group}, "they have ended")
        return False

    def refusal(self, node):
        """The last line of an agent that does not start; None: it is ready."""
        eventually(lambda: node.process.poll() is not None or self.answers(node),
                   "the agent is ready or has ended")
        if node.process.poll() is None:
            return None
        self.assertEqual(node.process.returncode, 1, node.log()[-3000:])
        return node.log().rstrip().splitlines()[-1]

    @staticmethod
    def answers(node):
        try:
            return node.is_ready()
        except AssertionError:
            return False

    def settled(self, node):
        for item in node.pods():
            waits = any(condition["type"] == "PodScheduled" and condition["status"] == "False"
                        for condition in item["status"].get("conditions", []))
            if item["status"]["phase"] == "Pending" and not waits:
                return False
        return True

    def serve(self, node, dice):
        self.made += 1
        cpus = 1 if dice.random() < 0.6 else None
        made = node.create(pod(f"p{self.made}", SLEEP, cpus=cpus))
        if cpus:
            self.exclusive.add(made["metadata"]["uid"])
        eventually(lambda: self.settled(node), "every pod runs or waits")
        self.check()
        if dice.random() < 0.3:
            name = dice.choice(node.pods())["metadata"]["name"]
            node.delete(name, grace=0)
            node.gone(name)
        eventually(lambda: self.settled(node), "every pod runs or waits")
        self.check()

    def test_never_gives_a_cpu_twice_whatever_happens_to_roots(self):
        print(f"seed {SEED}, {STEPS} steps", flush=True)
        dice = self.dice = random.Random(SEED)
        self.recovered = 0
        started = refused = 0
        for _ in range(STEPS):
            node = dice.choice(self.nodes)
            if dice.random() < 0.5:
                dice.choice([self.lose, self.back_up, self.restore, self.restore_part])(node, dice)
                continue
            if not self.starts(node):
                refused += 1
                continue
            started += 1
            self.serve(node, dice)
            if dice.random() < 0.5:
                node.kill()
            else:
                self.assertEqual(node.stop(), 0)
            self.check()
        print(f"{started} agents started, {self.recovered} of them with --recover, {refused} were "
              "refused", flush=True)

    def test_names_the_root_of_what_runs(self):
        first, second = self.nodes
        first.start()
        first.create(pod("neighbour", SLEEP))
        uid = first.running("neighbour")
        pids = first.pids(uid)
        client = first.run("--cpus", "1", "--", "sleep", "100000")
        try:
            # A process in the cgroup is not enough: an agent that stops before the command was
            # executed takes the start back.
            eventually(lambda: [each["status"].get("phase") for each in first.pods()]
                       == ["Running"] * 2, "the command runs")
            self.assertEqual(first.stop(), 0)
            second.launch()
            self.assertEqual(second.process.wait(DEADLINE), 1)
            said = second.log().rstrip().splitlines()[-1]
            self.assertIn(f"process {pids[0]}; CPUs", said)
            self.assertEqual(said.count(f"of the agent with --root {first.root}"), 2, said)
            self.assertIn(f"start the agent with --root {first.root}, or end them", said)
            first.start()
            self.assertEqual(first.pids(uid), pids)
            first.delete("neighbour", grace=0)
            first.gone("neighbour")
        finally:
            client.kill()
            client.communicate()
        eventually(lambda: not containers_of_machine(), "nothing runs any more")
        self.assertEqual(first.stop(), 0)
        second.start()
        self.assertEqual(second.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
