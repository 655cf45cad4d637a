#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resize in place over the API of a real agent: what is asked, granted, refused and told."""

import json
import os
import signal
import sys
import unittest

from agent import APPLY, JSON_PATCH, MERGE, PODS, STRATEGIC, Agent, pod

COREHOLD = os.environ["COREHOLD"]
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recorded")

# CPUs 0-5 are NUMA node 0, 6-11 node 1; siblings are neighbours (0-1, 2-3, ...).
MACHINE = "package:2 numa:1 l3:1 core:3 pu:2"
CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
reservedSystemCPUs: "11"
topologyManagerPolicy: single-numa-node
featureGates:
  InPlacePodVerticalScalingExclusiveCPUs: true
"""


def cpu(amount):
    """A patch of the container `main`."""
    amounts = {"cpu": str(amount)}
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]}}


def condition(shown, kind):
    return next((c for c in shown["status"]["conditions"] if c["type"] == kind), None)


def is_unschedulable(shown):
    scheduled = condition(shown, "PodScheduled")
    return scheduled is not None and scheduled["status"] == "False"


def is_settled(shown):
    """What is asked for is granted and there."""
    own = shown["status"]["containerStatuses"][0]
    wanted = shown["spec"]["containers"][0].get("resources", {})
    return (
        own.get("resources") == wanted
        and own.get("allocatedResources") == wanted.get("requests")
        and condition(shown, "PodResizePending") is None
        and condition(shown, "PodResizeInProgress") is None
    )


def summary(shown):
    """CPUs wanted, granted and there, and what the conditions say."""
    own = shown["status"]["containerStatuses"][0]
    pending = condition(shown, "PodResizePending")
    progress = condition(shown, "PodResizeInProgress")
    return (
        shown["spec"]["containers"][0]["resources"]["requests"]["cpu"],
        own["allocatedResources"]["cpu"],
        own["resources"]["requests"]["cpu"],
        pending["reason"] if pending else "",
        progress.get("reason", "InProgress") if progress else "",
    )


class ResizeTest(unittest.TestCase):
    config = CONFIG

    def setUp(self):
        self.agent = self.enterContext(Agent(COREHOLD, MACHINE, self.config))

    def create(self, name, cpus, settle=True, **more):
        answer = self.agent.ask("POST", PODS, pod(name, cpus, **more))
        self.assertEqual(answer.code, 201, answer.text)
        if settle:
            self.agent.wait_for(
                f"{PODS}/{name}", lambda a: a.json["status"]["phase"] == "Running" and is_settled(a.json)
            )

    def resize(self, name, cpus, code=200):
        answer = self.agent.patch(f"{PODS}/{name}/resize", cpu(cpus), STRATEGIC)
        self.assertEqual(answer.code, code, answer.text)
        return answer.json

    def settled(self, name):
        return self.agent.wait_for(f"{PODS}/{name}", lambda a: is_settled(a.json)).json

    def pending(self, name, reason):
        def is_so(answer):
            found = condition(answer.json, "PodResizePending")
            return found is not None and found["reason"] == reason

        return self.agent.wait_for(f"{PODS}/{name}", is_so).json

    def assigned(self, name):
        found = self.agent.get("/apis/corehold.dev/v1alpha1/cpus").json["containers"]
        return next(c["assigned"] for c in found if c["pod"] == name)

    def metric(self, name):
        lines = self.agent.get("/metrics").text.splitlines()
        return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + " "))

    def events(self, name):
        found = self.agent.get(f"/api/v1/events?fieldSelector=involvedObject.name%3D{name}").json["items"]
        return [e["reason"] for e in found if e["reason"].startswith("Resize")]


class Granted(ResizeTest):
    def test_the_worked_example_is_what_the_design_says(self):
        version = self.agent.get(PODS).json["metadata"]["resourceVersion"]
        watch = self.agent.watch(PODS, resourceVersion=version)
        self.create("db", 2)
        self.assertEqual(self.assigned("db"), "0-1")
        for cpus, expected, generation in ((4, "0-3", 2), (6, "0-5", 3)):
            answer = self.resize("db", cpus)
            self.assertEqual(answer["metadata"]["generation"], generation)
            self.assertEqual(answer["spec"]["containers"][0]["resources"]["requests"]["cpu"], str(cpus))
            self.assertEqual(self.settled("db")["status"]["observedGeneration"], generation)
            self.assertEqual(self.assigned("db"), expected)

        self.resize("db", 8)
        refused = self.pending("db", "Infeasible")
        self.assertEqual(summary(refused), ("8", "6", "6", "Infeasible", ""))
        told = condition(refused, "PodResizePending")
        self.assertEqual((told["status"], told["observedGeneration"]), ("True", 4))
        self.assertIn("8", told["message"])
        self.assertEqual(self.assigned("db"), "0-5")
        self.assertEqual(self.metric('kubelet_pod_pending_resizes{reason="infeasible"}'), 1)

        seen = [summary(e["object"]) for e in self.until(watch, ("8", "6", "6", "Infeasible", ""))]
        for expected in (
            ("2", "2", "2", "", ""),
            ("4", "4", "2", "", "InProgress"),
            ("4", "4", "4", "", ""),
            ("6", "6", "4", "", "InProgress"),
            ("6", "6", "6", "", ""),
        ):
            self.assertIn(expected, seen)
            seen = seen[seen.index(expected) :]

        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        again = self.pending("db", "Infeasible")
        self.assertEqual(summary(again), ("8", "6", "6", "Infeasible", ""))
        self.assertEqual(condition(again, "PodResizePending"), told)
        self.assertEqual(again["metadata"]["generation"], 4)

        self.resize("db", 4)
        self.assertEqual(self.settled("db")["metadata"]["generation"], 5)
        self.assertEqual(self.assigned("db"), "0-3")
        self.resize("db", 1)
        refused = self.pending("db", "Infeasible")
        self.assertTrue(condition(refused, "PodResizePending")["message"])
        self.assertEqual(self.assigned("db"), "0-3")
        self.resize("db", 2)
        self.assertEqual(self.settled("db")["status"]["observedGeneration"], 7)
        self.assertEqual(self.assigned("db"), "0-1")
        self.assertEqual(self.metric('kubelet_pod_pending_resizes{reason="infeasible"}'), 0)
        self.assertEqual(self.metric("kubelet_pod_in_progress_resizes"), 0)
        self.assertEqual(
            self.events("db"), ["ResizeInfeasible", "ResizeStarted", "ResizeCompleted"] * 2
        )

    def until(self, watch, last):
        """Events of a watch up to one that looks like this; those before the containers ran are left out."""
        found = []
        while True:
            event = watch.next()
            self.assertIsNotNone(event, found)
            if "allocatedResources" not in event["object"]["status"]["containerStatuses"][0]:
                continue
            found.append(event)
            if summary(event["object"]) == last:
                watch.close()
                return found

    def test_a_container_is_not_restarted(self):
        self.create("db", 2)
        before = self.agent.get(f"{PODS}/db").json["status"]["containerStatuses"][0]
        for cpus in (4, 2):
            self.resize("db", cpus)
            own = self.settled("db")["status"]["containerStatuses"][0]
            for field in ("state", "restartCount", "containerID"):
                self.assertEqual(own[field], before[field])

    def test_a_container_that_wants_to_be_restarted_is(self):
        body = pod("db", 2)
        body["spec"]["containers"][0]["resizePolicy"] = [
            {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
        ]
        self.assertEqual(self.agent.ask("POST", PODS, body).code, 201)
        self.settled("db")
        self.resize("db", 4)
        self.agent.wait_for(
            f"{PODS}/db", lambda a: a.json["status"]["containerStatuses"][0]["restartCount"] == 1
        )
        self.assertEqual(self.settled("db")["status"]["containerStatuses"][0]["restartCount"], 1)
        self.assertEqual(self.assigned("db"), "0-3")

    def test_sidecars_are_resized_and_plain_init_containers_are_not(self):
        body = pod("db", 2)
        limits = {"limits": {"cpu": "2", "memory": "64Mi"}}
        body["spec"]["initContainers"] = [
            {"name": "proxy", "restartPolicy": "Always", "command": ["serve"], "resources": limits},
            {"name": "setup", "command": ["true"], "resources": limits},
        ]
        self.assertEqual(self.agent.ask("POST", PODS, body).code, 201)
        self.settled("db")

        def resize(name):
            main = cpu(4)["spec"]["containers"][0]
            return self.agent.patch(
                f"{PODS}/db/resize", {"spec": {"initContainers": [{**main, "name": name}]}}, STRATEGIC
            )

        self.assertEqual(resize("proxy").code, 200)
        self.agent.wait_for(
            f"{PODS}/db",
            lambda a: a.json["status"]["initContainerStatuses"][0]["resources"]["limits"]["cpu"] == "4",
        )
        refused = resize("setup")
        self.assertEqual((refused.code, refused.json["reason"]), (403, "Forbidden"))
        self.assertIn("requires features InPlacePodVerticalScalingInitContainers", refused.json["message"])

    def test_a_pod_that_has_ended_only_takes_note(self):
        body = pod("job", 2, command=["true"])
        body["spec"]["restartPolicy"] = "Never"
        self.assertEqual(self.agent.ask("POST", PODS, body).code, 201)
        ended = lambda a: a.json["status"]["phase"] == "Succeeded"
        self.agent.wait_for(f"{PODS}/job", ended)
        self.assertEqual(summary(self.resize("job", 64)), ("64", "2", "2", "", ""))
        self.agent.stop()
        self.agent.start()
        shown = self.agent.wait_for(f"{PODS}/job", ended).json
        self.assertEqual(summary(shown), ("64", "2", "2", "", ""))


class Deferred(ResizeTest):
    def setUp(self):
        super().setUp()
        self.create("db", 2)
        self.create("other", 4)
        self.assertEqual((self.assigned("db"), self.assigned("other")), ("0-1", "2-5"))
        self.resize("db", 4)
        self.waits = self.pending("db", "Deferred")

    def test_waits_until_somebody_leaves(self):
        self.assertEqual(summary(self.waits), ("4", "2", "2", "Deferred", ""))
        self.assertIn("other", condition(self.waits, "PodResizePending")["message"])
        self.assertEqual(self.metric('kubelet_pod_pending_resizes{reason="deferred"}'), 1)
        self.agent.ask("DELETE", f"{PODS}/other?gracePeriodSeconds=0")
        self.settled("db")
        self.assertEqual(self.assigned("db"), "0-3")
        self.assertEqual(self.events("db"), ["ResizeDeferred", "ResizeStarted", "ResizeCompleted"])
        self.assertEqual(
            self.metric('kubelet_pod_deferred_accepted_resizes_total{retry_trigger="resources_freed"}'), 1
        )

    def test_labels_can_be_changed_meanwhile(self):
        answer = self.agent.patch(f"{PODS}/db", {"metadata": {"labels": {"x": "1"}}})
        self.assertEqual(answer.code, 200, answer.text)
        self.assertEqual(summary(answer.json), ("4", "2", "2", "Deferred", ""))
        self.assertEqual(
            condition(answer.json, "PodResizePending"), condition(self.waits, "PodResizePending")
        )
        self.agent.ask("DELETE", f"{PODS}/other?gracePeriodSeconds=0")
        self.assertEqual(self.settled("db")["metadata"]["labels"], {"x": "1"})

    def test_can_be_taken_back(self):
        answer = self.resize("db", 2)
        self.assertEqual(summary(answer), ("2", "2", "2", "", ""))
        self.assertEqual(answer["metadata"]["generation"], 3)

    def test_stays_so_over_a_restart(self):
        self.agent.stop()
        self.agent.start()
        again = self.pending("db", "Deferred")
        self.assertEqual(
            condition(again, "PodResizePending")["lastTransitionTime"],
            condition(self.waits, "PodResizePending")["lastTransitionTime"],
        )
        self.agent.ask("DELETE", f"{PODS}/other?gracePeriodSeconds=0")
        self.settled("db")

    def test_a_pod_that_waits_for_room_asks_for_something_else(self):
        self.create("large", 6, settle=False)
        self.agent.wait_for(f"{PODS}/large", lambda a: is_unschedulable(a.json))
        self.create("next", 4)
        self.assertEqual(self.resize("large", 2)["metadata"]["generation"], 2)
        # Node 1 has CPUs 6-11, of which 11 is reserved and so 10 is of no use.
        self.agent.wait_for(f"{PODS}/large", lambda a: is_unschedulable(a.json))
        self.agent.ask("DELETE", f"{PODS}/next?gracePeriodSeconds=0")
        self.settled("large")
        self.assertEqual(self.assigned("large"), "6-7")


class Writing(ResizeTest):
    def setUp(self):
        super().setUp()
        self.create("db", 2, labels={"app": "db"})
        self.path = f"{PODS}/db/resize"

    def writers(self, shown):
        return [
            (e["manager"], e["operation"], e.get("subresource", ""))
            for e in shown["metadata"]["managedFields"]
        ]

    def test_every_kind_of_patch_resizes(self):
        resources = "/spec/containers/0/resources"
        whole = self.agent.get(self.path).json["spec"]["containers"]
        whole[0]["resources"] = {"limits": {"cpu": "6", "memory": "64Mi"}}
        applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db"}, **cpu(4)}
        for kind, body, cpus in (
            (STRATEGIC, cpu(4), "4"),
            (MERGE, {"spec": {"containers": whole}}, "6"),
            (
                JSON_PATCH,
                [{"op": "replace", "path": f"{resources}/{list_}/cpu", "value": "2"} for list_ in ("limits", "requests")],
                "2",
            ),
            (APPLY, applied, "4"),
        ):
            answer = self.agent.patch(f"{self.path}?fieldManager=tester&force=true" if kind == APPLY
                                      else f"{self.path}?fieldManager=tester", body, kind)
            self.assertEqual(answer.code, 200, answer.text)
            self.assertEqual(summary(answer.json)[0], cpus)
            operation = "Apply" if kind == APPLY else "Update"
            self.assertIn(("tester", operation, "resize"), self.writers(answer.json))
            shown = self.settled("db")
            self.assertIn(("tester", operation, "resize"), self.writers(shown))
        self.assertEqual(shown["metadata"]["generation"], 5)
        owned = next(
            e["fieldsV1"]
            for e in shown["metadata"]["managedFields"]
            if (e["manager"], e["operation"]) == ("tester", "Apply")
        )
        amounts = {"f:requests": {"f:cpu": {}}, "f:limits": {"f:cpu": {}}}
        self.assertEqual(
            owned, {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:resources": amounts}}}}
        )

    def test_a_put_resizes_the_version_that_it_means(self):
        stale = self.agent.get(self.path).json
        self.agent.patch(f"{PODS}/db", {"metadata": {"labels": {"x": "1"}}})
        current = self.agent.get(self.path).json
        for whole in (stale, current):
            for list_ in ("limits", "requests"):
                whole["spec"]["containers"][0]["resources"][list_]["cpu"] = "4"
        answer = self.agent.ask("PUT", self.path, stale)
        self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"))
        answer = self.agent.ask("PUT", self.path, current)
        self.assertEqual((answer.code, answer.json["metadata"]["generation"]), (200, 2), answer.text)
        self.settled("db")

    def test_a_dry_run_does_everything_but_do_it(self):
        before = self.agent.get(f"{PODS}/db").json
        answer = self.agent.patch(f"{self.path}?dryRun=All", cpu(4), STRATEGIC)
        self.assertEqual(answer.code, 200, answer.text)
        self.assertEqual(answer.json["metadata"]["generation"], 2)
        self.assertEqual(summary(answer.json)[0], "4")
        self.assertEqual(self.agent.get(f"{PODS}/db").json, before)

    def test_all_but_resources_is_dropped_and_the_same_again_is_nothing(self):
        before = self.agent.get(f"{PODS}/db").json
        for change in (
            {"metadata": {"labels": {"through": "resize"}}},
            {"status": {"phase": "Failed"}},
            {"spec": {"nodeName": "elsewhere", "activeDeadlineSeconds": 5}},
            {"spec": {"containers": [{"name": "main", "image": "other"}]}},
            cpu("2000m"),
        ):
            answer = self.agent.patch(self.path, change, STRATEGIC)
            self.assertEqual(answer.code, 200, answer.text)
            for part in ("spec", "status"):
                self.assertEqual(answer.json[part], before[part])
            self.assertEqual(answer.json["metadata"]["labels"], {"app": "db"})
            self.assertEqual(answer.json["metadata"]["generation"], 1)

    def test_can_be_read(self):
        self.assertEqual(self.agent.get(self.path).json, self.agent.get(f"{PODS}/db").json)
        found = self.agent.get("/api/v1").json["resources"]
        verbs = next(r["verbs"] for r in found if r["name"] == "pods/resize")
        self.assertEqual(verbs, ["get", "patch", "update"])


class GateOff(ResizeTest):
    # With NodeDeclaredFeatures the API refuses at once: features_api_test.py.
    config = CONFIG.replace("ExclusiveCPUs: true", "ExclusiveCPUs: false") + "  NodeDeclaredFeatures: false\n"

    def test_exclusive_cpus_stay_and_shared_pods_are_resized(self):
        self.create("db", 2)
        self.resize("db", 4)
        self.pending("db", "Infeasible")
        self.assertEqual(self.assigned("db"), "0-1")
        self.create("web", "500m")
        self.resize("web", "1500m")
        self.assertEqual(summary(self.settled("web")), ("1500m", "1500m", "1500m", "", ""))


# Recorded with pods and nodes that cannot be had here.
NOT_HERE = {
    "resize: unknown container name (strategic merge adds it)": "a container needs no image here",
    "resize: above the node's allocatable cpu and memory": "told by the condition Infeasible",
    "resize: plain init container, node declares the feature": "this node does not",
    "resize: sidecar": "of a pod with that plain init container",
    "resize: windows node": "this node runs Linux",
    "resize: bound to a node that does not exist": "there is one node, and it exists",
}


class Recorded(unittest.TestCase):
    """validation/02 of a real API server, asked of a real agent."""

    def setUp(self):
        self.agent = self.enterContext(Agent(COREHOLD, "package:2 numa:1 core:4 pu:2", CONFIG.replace(
            "full-pcpus-only: \"true\"", "full-pcpus-only: \"false\"")))
        self.node = self.agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]
        large = {"cpu": "2", "memory": "1Gi"}
        small = {"name": "setup", "command": ["true"], "resources": {"limits": {"cpu": "2", "memory": "256Mi"}}}
        self.create("r-g", {"limits": large})
        self.create("r-be", {})
        self.create("r-b", {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": large})
        pod_level = {key: {"cpu": "4", "memory": "2Gi"} for key in ("limits", "requests")}
        self.create("r-n1", {"limits": large}, {"initContainers": [small], "resources": pod_level})

    def create(self, name, resources, more=None):
        body = pod(name, labels={"app": name})
        body["spec"]["containers"][0] |= {"name": "app", "image": "registry.example/app:v1", "resources": resources}
        body["spec"] |= {"nodeName": self.node, **(more or {})}
        answer = self.agent.ask("POST", PODS, body)
        self.assertEqual(answer.code, 201, answer.text)

    def test_resizes_are_made_and_refused_alike(self):
        with open(os.path.join(RECORDED, "validation/02-pod-update-and-resize.json"), encoding="utf-8") as file:
            cases = [c for c in json.load(file) if c["request"]["path"].split("?")[0].endswith("/resize")]
        self.assertEqual(set(NOT_HERE) - {c["about"] for c in cases}, set())
        asked = 0
        for case in cases:
            request, response = case["request"], case["response"]
            if case["about"] in NOT_HERE:
                continue
            with self.subTest(case["about"]):
                body = request["body"]
                if request["method"] == "PUT":
                    body = self.agent.get(request["path"]).json
                    body["metadata"]["resourceVersion"] = "1"
                kind = request.get("headers", {}).get("Content-Type", "application/json")
                answer = self.agent.ask(request["method"], request["path"], body, kind)
                self.assertEqual(answer.code, response["code"], answer.text)
                if answer.code == 200:
                    kept = response["body"]["keptByRecorder"]
                    self.assertEqual(answer.json["metadata"]["generation"], kept["metadata"]["generation"])
                    for list_ in ("containers", "initContainers"):
                        resources = [[c["resources"] for c in o["spec"].get(list_, [])] for o in (answer.json, kept)]
                        self.assertEqual(*resources)
                else:
                    self.assertEqual(answer.json, json.loads(json.dumps(response["body"]).replace("node-1", self.node)))
                asked += 1
        print(f"{asked} recorded resizes are ours; {len(NOT_HERE)} do not apply")
        self.assertEqual(asked, len(cases) - len(NOT_HERE))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
