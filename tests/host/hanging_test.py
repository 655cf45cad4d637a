#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods whose hostPath or volume hangs cost themselves and nothing else."""
import json
import os
import sys
import unittest

from hanging_file_system import HangingFileSystem, is_there
from node import (SKIPPED, NodeTest, eventually, online_cpus, pod, require_machine, start_time)

SLEEP = ["sleep", "1000"]


def with_volume(manifest, path):
    manifest["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": path}}]
    manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/mnt"}]
    return manifest


class AHostPathThatHangs(NodeTest):
    def setUp(self):
        super().setUp()
        directory = os.path.join(self.node.base, "hangs")
        os.mkdir(directory)
        self.hanging = HangingFileSystem(directory)
        self.addCleanup(self.hanging.release)
        self.node.start()
        self.node.create(with_volume(pod("stuck", SLEEP), directory + "/data"))
        self.uid = eventually(lambda: self.node.pod("stuck"), "the pod is there")["metadata"]["uid"]
        eventually(lambda: self.node.pids(self.uid), "its process looks at the volume")

    def leave(self):
        self.hanging.release()
        super().leave()

    def test_costs_other_pods_nothing(self):
        self.node.create(pod("holder", SLEEP, cpus=1))
        self.node.create(pod("neighbour", SLEEP))
        held = self.node.container_cpus(self.node.running("holder"))
        self.assertEqual(len(held), 1)
        self.assertEqual(self.node.container_cpus(self.node.running("neighbour")),
                         online_cpus() - held)
        self.node.delete("holder", grace=0)
        self.node.gone("holder")
        eventually(lambda: self.node.container_cpus(self.node.running("neighbour")) == online_cpus(),
                   "the CPUs are shared again")
        self.assertNotEqual(self.node.pod("stuck")["status"]["phase"], "Running")

    # By itself it goes when the start is given up, after a minute.
    def test_does_not_keep_the_pod_from_being_deleted(self):
        pids = self.node.pids(self.uid)
        born = {pid: start_time(pid) for pid in pids}
        self.node.delete("stuck", grace=0)
        self.node.create(pod("other", SLEEP))
        self.node.running("other")
        self.hanging.release()
        self.node.gone("stuck")
        for pid, when in born.items():
            self.assertNotEqual(start_time(pid), when, "its process is left")
        self.check_books()

    def test_does_not_keep_the_agent_from_ending_nor_from_starting(self):
        self.assertEqual(self.node.stop(), 0)
        self.node.start()
        self.node.create(pod("other", SLEEP))
        self.node.running("other")

    def test_starts_nothing_and_is_told_once_it_answers(self):
        self.hanging.release()
        eventually(lambda: self.node.events("FailedStart"), "the start has failed")
        self.assertEqual([pid for pid in self.node.pids(self.uid)
                          if b"sleep" in open(f"/proc/{pid}/cmdline", "rb").read()], [])


class AStaticPodFileThatHangs(NodeTest):
    def setUp(self):
        super().setUp()
        directory = os.path.join(self.node.base, "hangs")
        self.static = os.path.join(self.node.base, "static")
        os.mkdir(directory)
        os.mkdir(self.static)
        self.hanging = HangingFileSystem(directory)
        self.addCleanup(self.hanging.release)
        os.symlink(directory + "/pod.yaml", self.static + "/a.yaml")
        with open(self.node.config, encoding="utf-8") as file:
            text = file.read()
        with open(self.node.config, "w", encoding="utf-8") as file:
            file.write(text.replace("cpuManagerPolicy:", f"staticPodPath: {self.static}\ncpuManagerPolicy:", 1))

    def leave(self):
        self.hanging.release()
        for name in os.listdir(self.static):
            os.remove(os.path.join(self.static, name))
        eventually(lambda: [each["metadata"]["name"] for each in self.node.pods()] in ([], ["third"]),
                   "the static pods go with their files")
        super().leave()

    # The agent is not ended in it: a sanitizer's leak checker cannot stop a thread that hangs.
    def test_costs_its_own_pod_and_nobody_else(self):
        with open(self.static + "/b.yaml", "w", encoding="utf-8") as file:
            json.dump(pod("first", SLEEP), file)
        self.node.start()
        eventually(lambda: self.node.events("Started"), "the pod of another file runs")
        with open(self.static + "/c.yaml", "w", encoding="utf-8") as file:
            json.dump(pod("second", SLEEP), file)
        eventually(lambda: len(self.node.events("Started")) == 2, "that of a new file runs")
        os.remove(self.static + "/b.yaml")
        eventually(lambda: len(self.node.pods()) == 1, "a pod goes with its file")
        self.node.create(pod("third", SLEEP))
        self.node.running("third")


class ManyVolumesThatHang(NodeTest):
    """More of them than the agent has threads for containers when none hangs."""

    PODS = 40

    def setUp(self):
        super().setUp()
        self.hanging = []
        self.node.start()
        names = [f"stuck-{number}" for number in range(self.PODS)]
        for name in names:
            manifest = pod(name, SLEEP, volumes=[{"name": "v", "emptyDir": {}}])
            manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/mnt"}]
            self.node.create(manifest)
        self.uids = [self.node.running(name) for name in names]
        for uid in self.uids:
            self.hanging.append(HangingFileSystem(os.path.join(self.node.root, "volumes", uid)))
        for name in names:
            self.node.delete(name, grace=0)
        eventually(lambda: not any(self.node.pids(uid) for uid in self.uids), "all were killed")

    def leave(self):
        for hanging in self.hanging:
            hanging.release()
        super().leave()

    def test_cost_other_pods_nothing(self):
        self.node.create(pod("web", SLEEP, cpus="100m"))
        web = self.node.running("web")
        self.node.create(pod("holder", SLEEP, cpus=1))
        held = self.node.container_cpus(self.node.running("holder"))
        self.assertEqual(len(held), 1)
        self.assertEqual(self.node.container_cpus(web), online_cpus() - held)
        code, _, trouble = self.node.command("resize", "pod", "web", "--cpu", "200m", "--wait")
        self.assertEqual(code, 0, trouble)
        self.node.delete("holder", grace=0)
        self.node.gone("holder")
        eventually(lambda: self.node.container_cpus(web) == online_cpus(), "the CPUs are shared again")
        self.node.delete("web", grace=0)
        self.node.gone("web")
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            still = [line for line in mounts if f"{self.node.root}/volumes/" in line]
        self.assertEqual(len(still), self.PODS, "they do not hang any more")

    def test_are_removed_once_they_answer(self):
        for hanging in self.hanging:
            hanging.release()
        eventually(lambda: not any(os.path.exists(os.path.join(self.node.root, "volumes", uid))
                                   for uid in self.uids), "their files are removed")
        self.check_books()


if __name__ == "__main__":
    require_machine()
    if not is_there():
        print("skipped: /dev/fuse is needed for a file system that hangs")
        sys.exit(SKIPPED)
    unittest.main()
