#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declared features (KEP-5328) on the API of a real agent.

A single node is kubelet and control plane at once: nobody else could run a pod that it cannot, so
what would be Pending in a cluster is Failed here, as when a kubelet refuses a pod. A Failed pod is
terminal: to run it, it is deleted and created again.
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from agent import JSON_PATCH, MERGE, PODS, STRATEGIC, Agent, pod
from resize_api_test import MACHINE, condition, cpu

COREHOLD = os.environ["COREHOLD"]
RESTART = "RestartAllContainersOnContainerExits"
EXCLUSIVE = "InPlacePodVerticalScalingExclusiveCPUs"
ASSIGNED = "DownwardAPIAssignedResources"
POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
NOT_AVAILABLE = "Pod requires node features that are not available: "
REFUSAL = f"{NOT_AVAILABLE}{RESTART} (its gate is off)"
ANNOTATION = "corehold.dev/declared-features"
POLICY = "corehold.dev/cpu-manager-policy"


def config(*on, policy="static", off=(), more=""):
    gates = "".join(f"  {gate}: true\n" for gate in on) + "".join(f"  {gate}: false\n" for gate in off)
    return (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"cpuManagerPolicy: {policy}\n"
        + ('reservedSystemCPUs: "11"\n' if policy == "static" else "")
        + more
        + (f"featureGates:\n{gates}" if gates else "")
    )


OFF = ("NodeDeclaredFeatures",)


def testpod1(name="testpod1", cpus=2):
    """A pod that needs RestartAllContainersOnContainerExits."""
    made = pod(name, cpus)
    made["spec"]["containers"][0]["restartPolicyRules"] = [
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    ]
    made["spec"]["containers"][0]["restartPolicy"] = "Never"
    return made


def user_namespace_pod(name):
    made = pod(name)
    made["spec"] |= {"hostNetwork": True, "hostUsers": False}
    return made


def bind_mount_pod(name):
    made = pod(name)
    made["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    made["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "tmp", "mountPath": "/tmp/x", "bindMountOptions": ["noexec", "nosuid"]}
    ]
    return made


def assigned_pod(name):
    made = pod(name, 2)
    item = {"path": "cpus", "resourceFieldRef": {"containerName": "main", "resource": "assigned.cpuset"}}
    made["spec"]["volumes"] = [{"name": "told", "downwardAPI": {"items": [item]}}]
    return made


# Those that pods can need to run, and what is said of a pod where its gate is off, and where it is on;
# None: it runs.
NEEDED_TO_RUN = {
    RESTART: (testpod1, REFUSAL, None),
    "UserNamespacesHostNetworkSupport": (user_namespace_pod, *[
        NOT_AVAILABLE + "UserNamespacesHostNetworkSupport (this node does not have it)"] * 2),
    "VolumeBindMountOptions": (bind_mount_pod, *[
        NOT_AVAILABLE + "VolumeBindMountOptions (this node does not have it)"] * 2),
    ASSIGNED: (assigned_pod, None, None),
}


class FeaturesTest(unittest.TestCase):
    config = config()

    def setUp(self):
        self.agent = self.enterContext(Agent(COREHOLD, MACHINE, self.config))

    def restart(self, text, number=signal.SIGTERM):
        """Another agent with this configuration on the same root."""
        self.agent.stop(number)
        with open(self.agent.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.agent.start()

    @property
    def node_path(self):
        return "/api/v1/nodes/" + self.agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]

    def declared(self):
        """Of the status; None: the field is not there. The annotation says the same."""
        node = self.agent.get(self.node_path).json
        names = node["status"].get("declaredFeatures")
        self.assertEqual(node["metadata"]["annotations"].get(ANNOTATION), names and ",".join(names))
        return names

    def create(self, body):
        answer = self.agent.ask("POST", PODS, body)
        self.assertEqual(answer.code, 201, answer.text)

    def delete(self, name):
        self.assertEqual(self.agent.ask("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0").code, 200)
        self.agent.wait_for(f"{PODS}/{name}", lambda a: a.code == 404)

    def recreate(self, body):
        self.delete(body["metadata"]["name"])
        self.create(body)

    def running(self, name):
        return self.agent.wait_for(f"{PODS}/{name}", lambda a: a.json["status"]["phase"] == "Running").json

    def failed(self, name, refusal=REFUSAL):
        """As a kubelet's (recorded: nri/04-kubelet-behaviour.json): bound, started, refused."""
        shown = self.agent.wait_for(f"{PODS}/{name}", lambda a: a.json["status"]["phase"] == "Failed").json
        status = shown["status"]
        self.assertEqual((status["reason"], status["message"]), ("PodFeatureUnsupported", "Pod was rejected: " + refusal))
        self.assertEqual(shown["spec"]["nodeName"], self.node_path.rsplit("/", 1)[1])
        self.assertIn("startTime", status)
        self.assertEqual(condition(shown, "PodScheduled")["status"], "True")

    def resize(self, name, cpus):
        return self.agent.patch(f"{PODS}/{name}/resize", cpu(cpus), STRATEGIC)

    def refused(self, answer, features):
        name = self.node_path.rsplit("/", 1)[1]
        text = f'pods "db" is forbidden: pod update requires features {features} which are not available on node "{name}"'
        self.assertEqual(
            answer.json,
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": text,
             "reason": "Forbidden", "details": {"name": "db", "kind": "pods"}, "code": 403},
        )

    def rejections(self):
        line = 'kubelet_admission_rejections_total{reason="PodFeatureUnsupported"} '
        found = [row for row in self.agent.get("/metrics").text.splitlines() if row.startswith(line)]
        return float(found[0].rsplit(" ", 1)[1]) if found else 0


class Walkthrough(FeaturesTest):
    def test_phase_1_the_node_declares_what_is_registered_and_enabled(self):
        self.assertIsNone(self.declared())
        self.restart(config(EXCLUSIVE, ASSIGNED))
        self.assertEqual(self.declared(), [ASSIGNED, EXCLUSIVE])

    def test_phase_2_a_resize_is_admitted_where_the_feature_is_rolled_out(self):
        self.create(pod("db", 2))
        self.running("db")
        self.refused(self.resize("db", 4), EXCLUSIVE)
        self.restart(config(EXCLUSIVE))
        self.assertEqual(self.declared(), [EXCLUSIVE])
        self.assertEqual(self.resize("db", 4).code, 200)
        self.agent.wait_for(
            f"{PODS}/db", lambda a: a.json["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"] == "4"
        )

    def test_phase_3_a_feature_that_was_cleaned_up_is_neither_declared_nor_asked_for(self):
        self.restart(config("LongForgotten", EXCLUSIVE))
        self.assertEqual(self.declared(), [EXCLUSIVE])
        self.create(pod("db", 2))
        self.running("db")
        self.assertEqual(self.resize("db", 4).code, 200)


class VersionSkew(FeaturesTest):
    """The rows of the table for a node that is its own control plane."""

    def test_checks_on_and_the_feature_missing_keeps_pods_and_updates_away(self):
        self.create(testpod1())
        self.failed("testpod1")
        self.create(pod("db", 2))
        self.running("db")
        self.refused(self.resize("db", 4), EXCLUSIVE)

    def test_checks_on_and_the_feature_there_lets_them_pass(self):
        self.restart(config(RESTART, EXCLUSIVE))
        self.create(testpod1("db"))
        self.running("db")
        self.assertEqual(self.resize("db", 4).code, 200)

    def test_checks_off_nothing_that_a_node_declares_counts(self):
        for gates in ((), (RESTART, EXCLUSIVE)):
            self.restart(config(*gates, off=OFF))
            self.assertIsNone(self.declared())
            self.create(testpod1("db"))
            self.running("db")
            self.assertEqual(self.resize("db", 4).code, 200)
            self.delete("db")


class Testpod1(FeaturesTest):
    def test_upgrade_downgrade_upgrade(self):
        # Initial state: a node without the feature.
        self.create(testpod1())
        self.failed("testpod1")
        # Upgrade.
        self.restart(config(RESTART))
        self.assertEqual(self.declared(), [RESTART])
        self.failed("testpod1")
        self.recreate(testpod1())
        before = self.running("testpod1")
        for gates in (config(RESTART, off=OFF), config(RESTART)):
            self.restart(gates)
            after = self.agent.get(f"{PODS}/testpod1").json["status"]
            self.assertEqual(after["containerStatuses"], before["status"]["containerStatuses"])
        self.restart(config(off=(RESTART,)))
        self.failed("testpod1")
        self.restart(config(RESTART))
        self.failed("testpod1")
        self.recreate(testpod1())
        self.running("testpod1")
        # Downgrade.
        self.restart(config(), signal.SIGKILL)
        self.assertIsNone(self.declared())
        self.failed("testpod1")
        self.recreate(testpod1())
        self.failed("testpod1")
        # Upgrade.
        self.restart(config(RESTART))
        self.recreate(testpod1())
        self.running("testpod1")


class RestartingAll(FeaturesTest):
    """RestartAllContainersOnContainerExits is more than declared: main ends with 0 after a moment."""

    config = config(RESTART)

    @staticmethod
    def gang():
        made = testpod1("gang")
        main = made["spec"]["containers"][0]
        main["command"] = ["sleep", "1"]
        main["restartPolicyRules"][0]["exitCodes"]["values"] = [0]
        made["spec"]["containers"].append({**pod("x", 1)["spec"]["containers"][0], "name": "beside"})
        made["spec"]["restartPolicy"] = "Never"
        return made

    def test_all_start_over_and_keep_their_cpus(self):
        self.create(self.gang())
        before = self.running("gang")
        cpus = self.agent.get("/apis/corehold.dev/v1alpha1/cpus").json["containers"]
        self.assertEqual(len(cpus), 2)
        watch = self.agent.watch(PODS, resourceVersion=before["metadata"]["resourceVersion"])
        seen = []
        while True:
            status = watch.next()["object"]["status"]
            self.assertEqual(status["phase"], "Running")
            at = next(one for one in status["conditions"] if one["type"] == "AllContainersRestarting")
            if at["status"] == "True":
                seen.append((at["reason"], at["message"]))
            if [one["restartCount"] for one in status["containerStatuses"]] == [1, 1]:
                break
        watch.close()
        self.assertEqual(set(seen), {("RestartAllContainersStarted", "container exited with restart policy rule")})
        beside = status["containerStatuses"][1]["lastState"]["terminated"]
        self.assertEqual((beside["exitCode"], beside["reason"]), (137, "RestartingAllContainers"))
        self.assertEqual(self.agent.get("/apis/corehold.dev/v1alpha1/cpus").json["containers"], cpus)

    def test_gates_off_the_rule_is_ignored_and_an_event_says_so(self):
        self.restart(config(off=OFF))
        self.create(self.gang())
        path = "/api/v1/namespaces/default/events?fieldSelector=reason=RestartRuleIgnored"
        self.agent.wait_for(path, lambda a: a.json["items"])
        shown = self.running("gang")["status"]
        self.assertIn("terminated", shown["containerStatuses"][0]["state"])
        self.assertIn("running", shown["containerStatuses"][1]["state"])
        self.assertIsNone(condition(self.agent.get(f"{PODS}/gang").json, "AllContainersRestarting"))


class EnableAndDisable(FeaturesTest):
    config = config(EXCLUSIVE)

    def test_kubelet_populates_and_clears_declared_features(self):
        # What clients write onto the node is kept; what was declared then is not.
        self.agent.patch(self.node_path, {"metadata": {"annotations": {"team": "red"}}})
        self.assertEqual(self.declared(), [EXCLUSIVE])
        self.restart(config(EXCLUSIVE, off=OFF))
        self.assertIsNone(self.declared())
        self.assertEqual(self.agent.get(self.node_path).json["metadata"]["annotations"]["team"], "red")
        self.restart(config(EXCLUSIVE))
        self.assertEqual(self.declared(), [EXCLUSIVE])

    def test_control_plane_from_on_to_off_bypasses_validation_and_admission(self):
        self.restart(config())
        self.create(pod("db", 2))
        self.running("db")
        self.refused(self.resize("db", 4), EXCLUSIVE)
        self.restart(config(off=OFF))
        self.assertEqual(self.resize("db", 4).code, 200)
        shown = self.agent.wait_for(f"{PODS}/db", lambda a: condition(a.json, "PodResizePending")).json
        self.assertEqual(condition(shown, "PodResizePending")["reason"], "Infeasible")
        self.create(testpod1())
        self.running("testpod1")

    def test_control_plane_from_off_to_on_validates_and_admits(self):
        self.restart(config(off=OFF))
        self.create(testpod1())
        self.create(pod("db", 2))
        self.running("testpod1")
        self.running("db")
        self.restart(config())
        self.failed("testpod1")
        self.running("db")
        self.refused(self.resize("db", 4), EXCLUSIVE)


class Declaring(FeaturesTest):
    config = config(EXCLUSIVE, RESTART, POD_LEVEL)

    def test_what_is_edited_is_put_back(self):
        own = sorted([EXCLUSIVE, RESTART])
        self.assertEqual(self.declared(), own)
        path = f"{self.node_path}/status"
        for body, kind in (
            ({"status": {"declaredFeatures": ["Fake"]}}, MERGE),
            ({"status": {"declaredFeatures": None}}, STRATEGIC),
            ([{"op": "add", "path": "/status/declaredFeatures/-", "value": "Zoo/sub"}], JSON_PATCH),
        ):
            answer = self.agent.patch(path, body, kind)
            self.assertEqual(answer.code, 200, answer.text)
            self.assertEqual(answer.json["status"]["declaredFeatures"], own)
            self.assertEqual(self.declared(), own)
        node = self.agent.get(self.node_path).json
        node["status"]["declaredFeatures"] = []
        node["metadata"]["annotations"] = {ANNOTATION: "Fake", POLICY: "none"}
        self.assertEqual(self.agent.ask("PUT", path, node).code, 200)
        self.assertEqual(self.agent.ask("PUT", self.node_path, {**node, "metadata": {
            **node["metadata"], "resourceVersion": ""}}).code, 200)
        self.assertEqual(self.declared(), own)
        self.assertEqual(self.agent.get(self.node_path).json["metadata"]["annotations"][POLICY], "static")

    def test_what_is_no_list_of_features_is_refused(self):
        path = f"{self.node_path}/status"
        before = self.agent.get(self.node_path).text
        for names, text in (
            (["b"], 'status.declaredFeatures[0]: Invalid value: "b": invalid feature name "b": must start with'),
            (["B", "A"], 'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically'),
            (["A", "A"], 'status.declaredFeatures[1]: Duplicate value: "A"'),
            (["A" * 254], "must be no more than 253 characters"),
        ):
            answer = self.agent.patch(path, {"status": {"declaredFeatures": names}})
            self.assertEqual(answer.code, 422, answer.text)
            self.assertIn(text, answer.json["message"])
        self.assertEqual(self.agent.get(self.node_path).text, before)

    def test_the_gate_off_drops_the_field_unchecked(self):
        self.restart(config(off=OFF))
        answer = self.agent.patch(f"{self.node_path}/status", {"status": {"declaredFeatures": ["b", "A"]}})
        self.assertEqual(answer.code, 200, answer.text)
        self.assertNotIn("declaredFeatures", answer.json["status"])
        self.agent.patch(self.node_path, {"metadata": {"annotations": {ANNOTATION: EXCLUSIVE}}})
        self.assertIsNone(self.declared())

    def test_a_feature_that_the_node_does_not_have_is_not_declared_with_its_gate_on(self):
        self.assertNotIn(POD_LEVEL, self.declared())
        self.assertIn(f'it is not declared" feature={POD_LEVEL}', self.agent.log())

    def test_a_node_that_pins_nothing_does_not_declare_nor_ask_for_exclusive_cpus(self):
        self.agent.stop()
        os.remove(os.path.join(self.agent.root, "cpu_manager_state"))
        self.restart(config(policy="none"))
        self.assertIsNone(self.declared())
        self.assertEqual(self.agent.get(self.node_path).json["metadata"]["annotations"][POLICY], "none")
        self.create(pod("db", 2))
        self.running("db")
        self.assertEqual(self.resize("db", 4).code, 200)


class Admission(FeaturesTest):
    def test_a_refused_pod_has_an_event_and_is_counted(self):
        self.assertEqual(self.rejections(), 0)
        self.create(testpod1())
        self.failed("testpod1")
        events = self.agent.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=testpod1").json["items"]
        self.assertEqual([(e["type"], e["reason"], e["message"]) for e in events],
                         [("Warning", "PodFeatureUnsupported", REFUSAL)])
        self.assertEqual(self.rejections(), 1)

    def expect(self, name, refusal):
        if refusal is None:
            self.running(name)
        else:
            self.failed(name, refusal)

    def test_a_pod_of_the_api_is_asked_for_each_feature(self):
        for gates in ((), tuple(NEEDED_TO_RUN)):
            self.restart(config(*gates))
            for feature, (make, off, on) in NEEDED_TO_RUN.items():
                with self.subTest(feature, gates=len(gates)):
                    self.create(make("db"))
                    self.expect("db", on if gates else off)
                    self.delete("db")

    def test_a_static_pod_is_asked_for_each_feature(self):
        folder = os.path.join(self.agent.root, "manifests")
        os.mkdir(folder)
        for feature, (make, _, _) in NEEDED_TO_RUN.items():
            with open(os.path.join(folder, f"{feature}.json"), "w", encoding="utf-8") as file:
                json.dump(make(feature.lower()), file)
        node = self.node_path.rsplit("/", 1)[1]
        # Failed ones stay so; those with the gates on are looked at first.
        for gates in (tuple(NEEDED_TO_RUN), ()):
            self.restart(config(*gates, more=f"staticPodPath: {folder}\n"))
            for feature, (_, off, on) in NEEDED_TO_RUN.items():
                with self.subTest(feature, gates=len(gates)):
                    self.expect(f"{feature.lower()}-{node}", on if gates else off)

    def test_what_is_refused_is_kept_as_it_was_given(self):
        answer = self.agent.ask("POST", PODS + "?fieldValidation=Strict", bind_mount_pod("db"))
        self.assertEqual(answer.code, 201, answer.text)
        self.assertNotIn("Warning", answer.headers)
        mount = self.agent.get(f"{PODS}/db").json["spec"]["containers"][0]["volumeMounts"][0]
        self.assertEqual(mount["bindMountOptions"], ["noexec", "nosuid"])

    def test_a_refused_pod_is_bound_so_that_its_resize_is_asked_about(self):
        self.create(testpod1("db"))
        self.failed("db")
        self.refused(self.resize("db", 4), EXCLUSIVE)

    def test_at_start_a_pod_that_runs_is_stopped_and_its_cpus_are_free(self):
        self.restart(config(RESTART))
        self.create(testpod1(cpus=6))
        self.running("testpod1")
        self.create(pod("next", 10))
        self.restart(config(), signal.SIGKILL)
        self.failed("testpod1")
        self.assertEqual(self.rejections(), 1)
        self.running("next")

    def test_a_pod_that_asks_for_assigned_cpus_runs_with_the_gate_off(self):
        self.assertIsNone(self.declared())
        self.create(assigned_pod("db"))
        self.running("db")

    def test_only_a_changed_spec_of_a_bound_pod_is_asked_about(self):
        self.create(pod("db", 2))
        self.create(pod("late", 10))
        self.running("db")
        self.assertEqual(self.agent.patch(f"{PODS}/db", {"metadata": {"labels": {"a": "b"}}}).code, 200)
        self.assertEqual(self.resize("db", 2).code, 200)
        self.refused(self.agent.patch(f"{PODS}/db/resize?dryRun=All", cpu(4), STRATEGIC), EXCLUSIVE)
        self.assertNotIn("nodeName", self.agent.get(f"{PODS}/late").json["spec"])
        self.assertEqual(self.resize("late", 4).code, 200)


class CommandLine(FeaturesTest):
    def corehold(self, *arguments):
        done = subprocess.run([COREHOLD, *arguments, "--root", self.agent.root],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_apply_warns_of_a_pod_that_is_refused_at_once(self):
        manifest = os.path.join(self.agent.root, "pod.json")
        with open(manifest, "w", encoding="utf-8") as file:
            json.dump(testpod1(), file)
        code, told, said = self.corehold("apply", "-f", manifest)
        self.assertEqual((code, told), (0, "pod default/testpod1 created\n"))
        self.assertEqual(said.splitlines()[-1], "corehold: warning: pod default/testpod1: "
                         f"PodFeatureUnsupported: Pod was rejected: {REFUSAL}")

    def test_resize_says_where_to_look_when_a_feature_is_missing(self):
        self.create(pod("db", 2))
        self.running("db")
        code, _, said = self.corehold("resize", "pod", "db", "--cpu", "4")
        self.assertEqual(code, 1)
        self.assertEqual(said.splitlines()[1:],
                         ["corehold: corehold describe node tells why the node does not have it"])

    def test_describe_node_tells_what_is_declared_and_why_not_the_rest(self):
        self.restart(config(ASSIGNED, "VolumeBindMountOptions"))
        _, page, _ = self.corehold("describe", "node")
        rows = dict(line.split(maxsplit=1) for line in page.split("\nfeatures\n")[1].split("\n\n")[0].splitlines())
        self.assertEqual(len(rows), 11)
        self.assertEqual(rows[ASSIGNED], "declared")
        self.assertEqual(rows[RESTART], "not declared: its gate is off")
        self.assertEqual(rows["VolumeBindMountOptions"], "not declared: this node does not have it")
        self.restart(config(off=OFF))
        _, page, _ = self.corehold("describe", "node")
        self.assertIn("\nfeatures  none is declared and none is asked for: gate NodeDeclaredFeatures is off\n", page)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
