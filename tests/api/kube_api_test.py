#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API of a real agent: what a client that knows Kubernetes expects of it."""

import os
import signal
import sys
import unittest

from agent import APPLY, JSON_PATCH, MERGE, PODS, STRATEGIC, Agent, pod

COREHOLD = os.environ["COREHOLD"]


class ApiTest(unittest.TestCase):
    def setUp(self):
        self.agent = self.enterContext(Agent(COREHOLD))

    def create(self, body, path=PODS, code=201):
        answer = self.agent.ask("POST", path, body)
        self.assertEqual(answer.code, code, answer.text)
        return answer.json

    def running(self, name, path=PODS):
        return self.agent.wait_for(
            f"{path}/{name}", lambda a: a.code == 200 and a.json["status"]["phase"] == "Running"
        ).json

    def refused(self, answer, code, reason):
        self.assertEqual(answer.code, code, answer.text)
        status = answer.json
        self.assertEqual((status["kind"], status["reason"], status["code"]), ("Status", reason, code))
        return status

    # ---- lists and watches

    def test_lists_come_in_pages_of_one_moment(self):
        for name in "abcde":
            self.create(pod(name))
        first = self.agent.get(f"{PODS}?limit=2").json
        self.assertEqual([p["metadata"]["name"] for p in first["items"]], ["a", "b"])
        self.assertEqual(first["metadata"]["remainingItemCount"], 3)
        self.create(pod("bb"))
        token = first["metadata"]["continue"]
        second = self.agent.get(f"{PODS}?limit=10&continue={token}").json
        self.assertEqual([p["metadata"]["name"] for p in second["items"]], ["c", "d", "e"])
        self.assertEqual(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"])
        self.assertNotIn("continue", second["metadata"])

    def test_selectors_select(self):
        self.create(pod("a", labels={"app": "x"}))
        self.create(pod("b", labels={"app": "y"}))
        names = lambda query: [p["metadata"]["name"] for p in self.agent.get(f"/api/v1/pods?{query}").json["items"]]
        self.assertEqual(names("labelSelector=app%3Dx"), ["a"])
        self.assertEqual(names("labelSelector=app+notin+(x)"), ["b"])
        self.assertEqual(names("fieldSelector=metadata.name%3Db"), ["b"])
        self.refused(self.agent.get("/api/v1/pods?fieldSelector=spec.nope%3D1"), 400, "BadRequest")

    def test_a_watch_goes_on_where_a_list_ended(self):
        self.create(pod("a"))
        self.running("a")
        version = self.agent.get(PODS).json["metadata"]["resourceVersion"]
        watch = self.agent.watch(PODS, resourceVersion=version)
        self.create(pod("b", labels={"x": "1"}))
        event = watch.next()
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", "b"))
        while event["type"] != "DELETED":
            if event["object"]["status"]["phase"] == "Running" and "deletionTimestamp" not in event["object"]["metadata"]:
                self.agent.ask("DELETE", f"{PODS}/b?gracePeriodSeconds=0")
            event = watch.next()
            if event["object"]["metadata"]["name"] == "b":
                newest = int(event["object"]["metadata"]["resourceVersion"])
                self.assertGreater(newest, int(version))
                version = newest
        watch.close()

    def test_a_watch_list_begins_with_what_there_is_and_a_mark(self):
        self.create(pod("a"))
        self.running("a")
        watch = self.agent.watch(
            PODS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
        )
        self.assertEqual(watch.next()["type"], "ADDED")
        mark = watch.next()
        self.assertEqual(mark["type"], "BOOKMARK")
        self.assertEqual(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true")
        watch.close()

    def test_a_watch_ends_when_its_time_is_over(self):
        watch = self.agent.watch(PODS, timeoutSeconds=1)
        self.assertIsNone(watch.next())

    def test_a_version_of_an_earlier_life_is_gone(self):
        self.create(pod("a"))
        version = self.agent.get(PODS).json["metadata"]["resourceVersion"]
        self.agent.stop()
        self.agent.start()
        self.assertGreater(int(self.agent.get(PODS).json["metadata"]["resourceVersion"]), int(version))
        event = self.agent.watch(PODS, resourceVersion=version).next()
        self.assertEqual((event["type"], event["object"]["code"], event["object"]["reason"]), ("ERROR", 410, "Expired"))

    def test_tables_are_made_here(self):
        self.create(pod("a"))
        self.running("a")
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        for path, cells in (("/api/v1/pods", 9), ("/api/v1/nodes", 10), ("/api/v1/events", 10), ("/api/v1/namespaces", 3)):
            table = self.agent.get(path, Accept=accept).json
            self.assertEqual(table["kind"], "Table", path)
            self.assertEqual(len(table["columnDefinitions"]), cells, path)
            self.assertTrue(all(len(row["cells"]) == cells for row in table["rows"]), path)
        self.assertEqual(table["rows"][0]["cells"][:2], ["default", "Active"])
        row = self.agent.get(f"{PODS}/a", Accept=accept).json["rows"][0]["cells"]
        self.assertEqual(row[:4], ["a", "1/1", "Running", "0"])

    # ---- writes

    def test_each_kind_of_patch_changes_labels(self):
        self.create(pod("a", labels={"one": "1"}))
        for kind, body in (
            (MERGE, {"metadata": {"labels": {"merge": "m"}}}),
            (STRATEGIC, {"metadata": {"labels": {"strategic": "s"}}}),
            (JSON_PATCH, [{"op": "add", "path": "/metadata/labels/json", "value": "j"}]),
        ):
            answer = self.agent.patch(f"{PODS}/a", body, kind)
            self.assertEqual(answer.code, 200, answer.text)
        metadata = self.agent.get(f"{PODS}/a").json["metadata"]
        self.assertEqual(metadata["labels"], {"one": "1", "merge": "m", "strategic": "s", "json": "j"})
        self.assertEqual(metadata["generation"], 1)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual(self.agent.get(f"{PODS}/a").json["metadata"]["labels"], metadata["labels"])

    def test_a_patch_that_changes_nothing_makes_no_version(self):
        self.create(pod("a", labels={"x": "1"}))
        before = self.running("a")["metadata"]["resourceVersion"]
        answer = self.agent.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}})
        self.assertEqual(answer.json["metadata"]["resourceVersion"], before)

    def test_what_decides_about_cpus_cannot_be_edited(self):
        self.create(pod("a", 2))
        before = self.running("a")
        body = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "3"}}}]}}
        status = self.refused(self.agent.patch(f"{PODS}/a", body, STRATEGIC), 422, "Invalid")
        self.assertIn("pod updates may not change fields other than", status["message"])
        self.assertEqual(self.agent.get(f"{PODS}/a").json, before)

    def test_an_old_version_is_a_conflict(self):
        self.create(pod("a"))
        stale = self.running("a")
        self.agent.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}})
        stale["metadata"]["labels"] = {"x": "2"}
        status = self.refused(self.agent.ask("PUT", f"{PODS}/a", stale), 409, "Conflict")
        self.assertIn("the object has been modified", status["message"])
        stale["metadata"]["resourceVersion"] = self.agent.get(f"{PODS}/a").json["metadata"]["resourceVersion"]
        self.assertEqual(self.agent.ask("PUT", f"{PODS}/a", stale).json["metadata"]["labels"], {"x": "2"})

    def test_server_side_apply_owns_conflicts_and_removes(self):
        def apply(manager, labels, force="false"):
            body = pod("a")
            body["metadata"]["labels"] = labels
            return self.agent.patch(f"{PODS}/a?fieldManager={manager}&force={force}", body, APPLY)

        self.assertEqual(apply("one", {"x": "1", "y": "1"}).code, 201)
        status = self.refused(apply("two", {"x": "2"}), 409, "Conflict")
        self.assertEqual(status["details"]["causes"][0]["reason"], "FieldManagerConflict")
        self.assertEqual(status["details"]["causes"][0]["field"], ".metadata.labels.x")
        self.assertEqual(apply("two", {"x": "2"}, "true").code, 200)
        self.assertEqual(apply("one", {}).code, 200)
        metadata = self.agent.get(f"{PODS}/a").json["metadata"]
        self.assertEqual(metadata["labels"], {"x": "2"})
        managers = {entry["manager"] for entry in metadata["managedFields"]}
        self.assertTrue({"one", "two"} <= managers, managers)

    def test_server_side_apply_takes_yaml(self):
        text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: main\n    command: [sleep, '9']\n"
        answer = self.agent.patch(f"{PODS}/a?fieldManager=hand", text, APPLY)
        self.assertEqual(answer.code, 201, answer.text)

    def test_a_dry_run_does_everything_but_do_it(self):
        answer = self.agent.ask("POST", f"{PODS}?dryRun=All", pod("a"))
        self.assertEqual(answer.code, 201, answer.text)
        self.assertEqual(self.agent.get(f"{PODS}/a").code, 404)
        self.create(pod("a"))
        before = self.running("a")
        changed = self.agent.patch(f"{PODS}/a?dryRun=All", {"metadata": {"labels": {"x": "1"}}}).json
        self.assertEqual(changed["metadata"]["labels"], {"x": "1"})
        self.assertEqual(self.agent.ask("DELETE", f"{PODS}/a?dryRun=All").code, 200)
        self.assertEqual(self.agent.get(f"{PODS}/a").json, before)
        self.refused(self.agent.ask("POST", f"{PODS}?dryRun=Some", pod("b")), 422, "Invalid")

    def test_deletion_has_its_grace_and_counts_as_a_generation(self):
        self.create(pod("a", command=("sleep", "1000")))
        self.running("a")
        gone = self.agent.ask("DELETE", f"{PODS}/a?gracePeriodSeconds=5").json
        self.assertEqual(gone["metadata"]["deletionGracePeriodSeconds"], 5)
        self.assertIn("deletionTimestamp", gone["metadata"])
        self.assertEqual(gone["metadata"]["generation"], 2)
        self.agent.wait_for(f"{PODS}/a", lambda a: a.code == 404)

    def test_deletion_with_preconditions_means_this_very_pod(self):
        uid = self.create(pod("a"))["metadata"]["uid"]
        wrong = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
        self.refused(self.agent.ask("DELETE", f"{PODS}/a", wrong), 409, "Conflict")
        self.assertEqual(self.agent.ask("DELETE", f"{PODS}/a", {"preconditions": {"uid": uid}}).code, 200)

    def test_all_pods_that_are_selected_are_deleted(self):
        for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
            self.create(pod(name, labels={"app": app}))
        gone = self.agent.ask("DELETE", f"{PODS}?labelSelector=app%3Dx&gracePeriodSeconds=0").json
        self.assertEqual([p["metadata"]["name"] for p in gone["items"]], ["a", "b"])
        self.agent.wait_for(PODS, lambda a: [p["metadata"]["name"] for p in a.json["items"]] == ["c"])

    def test_conditions_of_others_stay_in_the_status(self):
        self.create(pod("a"))
        self.running("a")
        body = {"status": {"phase": "Failed", "conditions": [{"type": "example.com/Warm", "status": "True"}]}}
        answer = self.agent.patch(f"{PODS}/a/status", body, STRATEGIC)
        self.assertEqual(answer.code, 200, answer.text)
        status = self.agent.get(f"{PODS}/a").json["status"]
        self.assertEqual(status["phase"], "Running")
        kinds = [condition["type"] for condition in status["conditions"]]
        self.assertEqual(kinds.count("example.com/Warm"), 1)
        self.assertEqual(kinds.count("Ready"), 1)

    def test_a_cordoned_node_takes_no_pods_and_stays_cordoned(self):
        name = self.agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]
        answer = self.agent.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}, "metadata": {"labels": {"rack": "7"}}}, STRATEGIC)
        self.assertEqual(answer.code, 200, answer.text)
        self.create(pod("a"))
        waits = self.agent.wait_for(f"{PODS}/a", lambda a: a.json["status"].get("conditions", [{}])[0].get("reason") == "Unschedulable").json
        self.assertIn("cordoned", waits["status"]["conditions"][0]["message"])
        self.agent.stop()
        self.agent.start()
        self.assertEqual(self.agent.get(f"{PODS}/a").json["status"]["phase"], "Pending")
        node = self.agent.get(f"/api/v1/nodes/{name}").json
        self.assertEqual((node["spec"]["unschedulable"], node["metadata"]["labels"]["rack"]), (True, "7"))
        self.agent.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})
        self.running("a")

    def test_what_a_node_does_not_have_is_refused(self):
        name = self.agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]
        taint = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
        self.refused(self.agent.patch(f"/api/v1/nodes/{name}", taint), 422, "Invalid")
        body = pod("a")
        body["spec"]["nodeName"] = "elsewhere"
        self.refused(self.agent.ask("POST", PODS, body), 422, "Invalid")
        self.refused(self.agent.ask("DELETE", f"/api/v1/nodes/{name}"), 405, "MethodNotAllowed")
        self.refused(self.agent.ask("POST", "/api/v1/namespaces", {}), 405, "MethodNotAllowed")
        self.refused(self.agent.get("/api/v1/services"), 404, "NotFound")

    def test_discovery_has_both_forms_and_a_tag(self):
        old = self.agent.get("/api").json
        self.assertEqual(old["versions"], ["v1"])
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        answer = self.agent.get("/api", Accept=accept)
        self.assertEqual(answer.json["kind"], "APIGroupDiscoveryList")
        self.assertEqual(answer.headers["Content-Type"], "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        again = self.agent.ask("GET", "/api", headers={"Accept": accept, "If-None-Match": answer.headers["Etag"]})
        self.assertEqual((again.code, again.text), (304, ""))
        index = self.agent.get("/openapi/v3").json
        self.assertEqual(self.agent.get(index["paths"]["api/v1"]["serverRelativeURL"]).code, 200)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
