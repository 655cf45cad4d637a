#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refusals of a real API server of Kubernetes 1.37, asked of a real agent: the same answers.

The recordings are those of tests/recorded, where the answers that need other objects than an
agent has (lists of many nodes, watches of them, tables) are replayed without one.
"""

import json
import os
import re
import sys
import unittest

from agent import MERGE, PODS, Agent, pod

COREHOLD = os.environ["COREHOLD"]
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recorded")

# What one node does not have, and so cannot answer.
NOT_HERE = {
    "bad bearer token": "tokens are for TLS; bad_client_test",
    "no credentials at all (anonymous)": "there are no anonymous users: 401; bad_client_test",
    "known user without rights: list": "there are no users with fewer rights",
    "known user without rights: watch": "there are no users with fewer rights",
    "get one": "there are no users with fewer rights",
    "patch a subresource": "there are no users with fewer rights",
    "node status patch": "there are no users with fewer rights",
    "conflict: already exists": "nodes cannot be created; pods: kube_api_test",
    "delete with a wrong uid precondition": "nodes cannot be deleted; pods: kube_api_test",
    "body is not JSON": "nodes cannot be created; asked below for a pod",
    "wrong kind": "nodes cannot be created; asked below for a pod",
}


def recorded(name):
    with open(os.path.join(RECORDED, name), encoding="utf-8") as file:
        cases = json.load(file)
    return cases if isinstance(cases, list) else cases["exchanges"]


class RecordedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = cls.enterClassContext(Agent(COREHOLD))
        cls.node = cls.agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]

    def ours(self, value):
        """A recorded value about the node list-0, about ours."""
        text = json.dumps(value).replace("list-0", self.node)
        return json.loads(text.replace("99999999", "9999999999999999999"))

    def ask(self, request):
        body = request.get("body")
        if body == "<whole node object>":
            body = self.agent.get(f"/api/v1/nodes/{self.node}").json
            body["metadata"]["resourceVersion"] = "1"
        headers = dict(request["headers"])
        kind = headers.pop("Content-Type", "application/json")
        return self.agent.ask(request["method"], self.ours(request["path"]), body, kind, headers)

    def test_statuses_are_those_of_an_api_server(self):
        asked = 0
        for name in ("watch/03-list-errors-and-forms.json", "watch/09-status-errors.json"):
            for case in recorded(name):
                response = case["response"]
                if case["about"] in NOT_HERE or response["code"] == 200:
                    continue
                with self.subTest(case["about"]):
                    answer = self.ask(case["request"])
                    self.assertEqual(answer.code, response["code"], answer.text)
                    expected, got = self.ours(response["body"]), answer.json
                    if response["code"] == 504:
                        expected["message"] = re.sub(r"current: \d+", "current: N", expected["message"])
                        got["message"] = re.sub(r"current: \d+", "current: N", got["message"])
                    self.assertEqual(got, expected)
                    asked += 1
        print(f"{asked} recorded refusals are ours; {len(NOT_HERE)} do not apply")
        self.assertGreaterEqual(asked, 12)

    def test_every_reason_names_a_case(self):
        known = {case["about"] for case in recorded("watch/09-status-errors.json")}
        self.assertEqual(set(NOT_HERE) - known, set())

    def test_bodies_that_are_no_pod_are_refused_like_those_that_are_no_node(self):
        nonsense = self.agent.ask("POST", PODS, "nonsense")
        self.assertEqual(nonsense.code, 400)
        self.assertEqual(
            nonsense.json["message"],
            "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
            "json parse error: invalid character 'o' in literal null (expecting 'u') "
            "(6e6f6e73656e7365)",
        )
        node = self.agent.ask("POST", PODS, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}})
        self.assertEqual(node.code, 400)
        self.assertEqual(
            node.json["message"],
            'Node in version "v1" cannot be handled as a Pod: converting (v1.Node) to (core.Pod): '
            "unknown conversion",
        )

    def test_health_is_told_as_there(self):
        for path in ("/healthz", "/readyz", "/readyz/ping"):
            answer = self.agent.get(path)
            self.assertEqual((answer.code, answer.text), (200, "ok"), path)
            self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8")
        nope = self.agent.get("/readyz/nope")
        self.assertEqual((nope.code, nope.text), (404, "404 page not found\n"))

    def test_generations_grow_as_recorded(self):
        """resize/generation-sequence: 1 created, 5 a label, 12 an image, 19 deletion."""
        body = pod("gen")
        body["spec"]["containers"][0]["image"] = "one"
        self.assertEqual(self.agent.ask("POST", PODS, body).json["metadata"]["generation"], 1)
        path = f"{PODS}/gen"
        self.agent.wait_for(path, lambda a: a.json["status"]["phase"] == "Running")
        patch = lambda change: self.agent.patch(path, change, MERGE).json
        labelled = patch({"metadata": {"labels": {"x": "1"}}})
        self.assertEqual(labelled["metadata"]["generation"], 1)
        container = {**labelled["spec"]["containers"][0], "image": "two"}
        changed = patch({"spec": {"containers": [container]}})
        self.assertEqual(changed["metadata"]["generation"], 2)
        self.assertEqual(changed["status"]["observedGeneration"], 2)
        same = patch({"spec": {"containers": [container]}})
        self.assertEqual(same["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"])
        gone = self.agent.ask("DELETE", f"{path}?gracePeriodSeconds=30").json
        self.assertEqual(gone["metadata"]["generation"], 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
