#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pod whose hostPath hangs costs that pod and nothing else."""
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


if __name__ == "__main__":
    require_machine()
    if not is_there():
        print("skipped: /dev/fuse is needed for a file system that hangs")
        sys.exit(SKIPPED)
    unittest.main()
