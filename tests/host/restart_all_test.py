#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All containers of a pod start over when one ends as its rule says (KEP-5532): real processes."""
import os
import unittest

from node import CONFIG, Node, NodeTest, eventually, pod, require_machine, start_time

GATE = "RestartAllContainersOnContainerExits"
RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


class RestartAll(NodeTest):
    def setUp(self):
        require_machine()
        self.node = Node(config=CONFIG.replace("\n---\n", f"\nfeatureGates:\n  {GATE}: true\n---\n", 1))
        self.addCleanup(self.leave)
        self.node.start()
        self.go = os.path.join(self.node.base, "go")
        self.ran = os.path.join(self.node.base, "ran")

    def manifest(self):
        """An init container, one with a CPU of its own that ends with 42 when asked, one beside it."""
        made = pod("gang", ["sh", "-c", f"until rm {self.go} 2> /dev/null; do sleep 0.05; done; exit 42"],
                   cpus=1, restartPolicy="Never", terminationGracePeriodSeconds=3600)
        spec = made["spec"]
        spec["containers"][0].update(restartPolicy="Never", restartPolicyRules=[RULE])
        spec["containers"][0]["volumeMounts"] = [{"name": "told", "mountPath": "/etc/podinfo"}]
        item = {"path": "cpus", "resourceFieldRef": {"containerName": "main", "resource": "assigned.cpuset"}}
        spec["volumes"] = [{"name": "told", "downwardAPI": {"items": [item]}}]
        amounts = {"limits": {"cpu": "500m", "memory": "64Mi"}}
        # It does not listen to being asked to end, and nobody waits for that.
        spec["containers"].append({"name": "beside", "image": "host", "resources": amounts,
                                   "command": ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]})
        spec["initContainers"] = [{"name": "setup", "image": "host", "resources": amounts,
                                   "command": ["sh", "-c", f"echo once >> {self.ran}"]}]
        return made

    def statuses(self):
        status = self.node.pod("gang")["status"]
        return {one["name"]: one for one in status["initContainerStatuses"] + status["containerStatuses"]}

    def condition(self):
        found = self.node.pod("gang")["status"]["conditions"]
        return next(one for one in found if one["type"] == "AllContainersRestarting")

    def first_pid(self, uid, container):
        """The container's shell: the oldest of its processes, with when it was born."""
        pids = eventually(lambda: self.node.pids(uid, container), f"{container} has processes")
        return min((start_time(pid) or 0, pid) for pid in pids)

    def told(self, uid):
        with open(os.path.join(self.node.root, "podinfo", uid, "told", "cpus"), encoding="ascii") as file:
            return file.read()

    def runs_afresh(self, restarts):
        return all(one["restartCount"] == restarts for one in self.statuses().values()) and all(
            "running" in self.statuses()[name]["state"] for name in ("main", "beside"))

    def test_all_containers_get_new_processes_on_the_same_cpus(self):
        self.node.create(self.manifest())
        uid = self.node.running("gang")
        before = {name: self.first_pid(uid, name) for name in ("main", "beside")}
        cpus, told = self.node.container_cpus(uid), self.told(uid)
        self.assertEqual((len(cpus), self.condition()["status"]), (1, "False"))
        with open(self.go, "w", encoding="ascii"):
            pass
        eventually(lambda: self.runs_afresh(1), "all containers run again")
        for name, process in before.items():
            self.assertNotEqual(self.first_pid(uid, name), process)
            self.assertNotEqual(start_time(process[1]), process[0], f"{name} has outlived the restart")
        self.assertEqual(self.node.running("gang"), uid)
        self.assertEqual((self.node.container_cpus(uid), self.told(uid)), (cpus, told))
        with open(self.ran, encoding="ascii") as file:
            self.assertEqual(file.read(), "once\nonce\n")
        last = {name: self.statuses()[name]["lastState"]["terminated"] for name in before}
        self.assertEqual({name: (one["exitCode"], one["reason"]) for name, one in last.items()},
                         {"main": (42, "Error"), "beside": (137, "RestartingAllContainers")})
        self.assertEqual(self.condition()["status"], "False")
        self.check_books()

    def test_an_agent_that_is_killed_meanwhile_leaves_it_to_the_next(self):
        self.node.create(self.manifest())
        uid = self.node.running("gang")
        cpus = self.node.container_cpus(uid)
        with open(self.go, "w", encoding="ascii"):
            pass
        self.node.kill()
        eventually(lambda: not os.path.exists(self.go), "main has ended")
        self.node.start()
        eventually(lambda: self.runs_afresh(1), "all containers run again")
        self.assertEqual(self.node.container_cpus(uid), cpus)
        self.check_books()


if __name__ == "__main__":
    unittest.main()
