#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of an agent, read by Prometheus' own tool, and the board and alerts on them.

COREHOLD names the program.
"""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "api"))
from agent import PODS, Agent, pod  # noqa: E402

COREHOLD = os.environ["COREHOLD"]
BOARD = SOURCE / "packaging" / "grafana" / "corehold.json"
ALERTS = SOURCE / "packaging" / "prometheus" / "alerts.yml"
NAME = re.compile(r"\b(?:corehold|kubelet|process)_[a-z0-9_]+\b")

# What promtool would have called otherwise. The names are the kubelet's.
TOTAL = 'counter metrics should have "_total" suffix'
COUNT = 'non-histogram and non-summary metrics should not have "_count" suffix'
KUBELETS_NAMES = {
    f"kubelet_container_aligned_compute_resources_count {TOTAL}",
    f"kubelet_container_aligned_compute_resources_count {COUNT}",
    f"kubelet_container_aligned_compute_resources_failure_count {TOTAL}",
    f"kubelet_container_aligned_compute_resources_failure_count {COUNT}",
    f"kubelet_cpu_manager_exclusive_cpu_allocation_count {COUNT}",
    'kubelet_pod_resize_duration_milliseconds use base unit "seconds" instead of "milliseconds"',
    f"kubelet_pod_resources_endpoint_errors_get {TOTAL}",
    f"kubelet_pod_resources_endpoint_errors_get_allocatable {TOTAL}",
    f"kubelet_pod_resources_endpoint_errors_list {TOTAL}",
    f"kubelet_pod_resources_endpoint_requests_get {TOTAL}",
    f"kubelet_pod_resources_endpoint_requests_get_allocatable {TOTAL}",
    f"kubelet_pod_resources_endpoint_requests_list {TOTAL}",
    "kubelet_topology_manager_admission_duration_ms metric names should not contain abbreviated units",
}


def promtool(*arguments, text=None):
    return subprocess.run(["promtool", *arguments], input=text, text=True, capture_output=True,
                          check=False, timeout=300)


class Scrape:
    """One text, checked by promtool on the way."""

    def __init__(self, test, agent):
        answer = agent.get("/metrics")
        test.assertEqual(answer.code, 200)
        test.assertEqual(answer.headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        self.text = answer.text
        checked = promtool("check", "metrics", text=self.text)
        # 3: it parses, but has names that promtool would not have chosen.
        test.assertEqual(checked.returncode, 3, checked.stderr)
        test.assertEqual(set(checked.stderr.splitlines()), KUBELETS_NAMES)
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.M))
        self.values = {series: float(value) for series, value in
                       re.findall(r"^([^#\s]\S*) (\S+)$", self.text, re.M)}

    def __getitem__(self, series):
        return self.values[series]

    def knows(self, name):
        """Whether a query may use this name."""
        if name in self.types:
            return self.types[name] != "histogram"
        family, _, last = name.rpartition("_")
        return last in ("bucket", "sum", "count") and self.types.get(family) == "histogram"

    def counters(self):
        kept = {name for name, kind in self.types.items() if kind != "gauge"}
        return {series: value for series, value in self.values.items()
                if re.sub(r"_(bucket|sum|count)$", "", series.split("{")[0]) in kept
                or series.split("{")[0] in kept}


class MetricsTest(unittest.TestCase):
    def test_gauges_follow_pods_and_return_to_zero(self):
        with Agent(COREHOLD, "package:2 numa:1 l3:1 core:4 pu:2") as agent:
            before = Scrape(self, agent)
            self.expect_idle(before)
            for name, cpus in (("a", 2), ("b", 8)):
                self.assertEqual(agent.ask("POST", PODS, pod(name, cpus)).code, 201)
                agent.wait_for(f"{PODS}/{name}",
                               lambda got: got.json["status"]["phase"] == "Running")
            self.assertEqual(agent.ask("POST", PODS, pod("late", 8)).code, 201)
            agent.wait_for(f"{PODS}/late", lambda got: "Unschedulable" in got.text)
            busy = Scrape(self, agent)
            self.assertEqual(busy["kubelet_cpu_manager_shared_pool_size_millicores"], 4000)
            self.assertEqual(busy["kubelet_cpu_manager_exclusive_cpu_allocation_count"], 10)
            self.assertEqual(busy['kubelet_cpu_manager_allocation_per_numa{numa_node="0"}'], 2)
            self.assertEqual(busy['kubelet_cpu_manager_allocation_per_numa{numa_node="1"}'], 8)
            self.assertEqual(busy['corehold_pods{phase="Running"}'], 2)
            self.assertEqual(busy['corehold_pods{phase="Pending"}'], 1)
            self.assertEqual(busy["corehold_exclusive_grant_seconds_count"], 2)
            self.assertEqual(busy["kubelet_cpu_manager_pinning_requests_total"], 3)
            self.assertEqual(busy["kubelet_cpu_manager_pinning_errors_total"], 1)
            self.assertEqual(busy["kubelet_topology_manager_admission_requests_total"], 3)
            self.assertEqual(busy["kubelet_topology_manager_admission_duration_ms_count"], 3)
            for name in ("late", "a", "b"):
                agent.ask("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
                agent.wait_for(f"{PODS}/{name}", lambda got: got.code == 404)
            after = Scrape(self, agent)
            self.expect_idle(after)
            for series, value in busy.counters().items():
                self.assertGreaterEqual(after[series], value, series)
            agent.stop()
            agent.start()
            self.assertEqual(Scrape(self, agent)["kubelet_cpu_manager_pinning_requests_total"], 0)

    def expect_idle(self, scrape):
        self.assertEqual(scrape["kubelet_cpu_manager_shared_pool_size_millicores"], 14000)
        self.assertEqual(scrape["kubelet_cpu_manager_exclusive_cpu_allocation_count"], 0)
        for node in (0, 1):
            name = f'kubelet_cpu_manager_allocation_per_numa{{numa_node="{node}"}}'
            self.assertEqual(scrape[name], 0)
        for phase in ("Failed", "Pending", "Running", "Succeeded"):
            self.assertEqual(scrape[f'corehold_pods{{phase="{phase}"}}'], 0)

    def test_refusals_are_counted_by_reason(self):
        with Agent(COREHOLD) as agent:
            self.assertEqual(agent.ask("POST", PODS, pod("all", 6)).code, 201)
            agent.wait_for(f"{PODS}/all", lambda a: a.json["status"]["phase"] == "Running")
            for _ in range(2):
                run = subprocess.run([COREHOLD, "run", "--root", agent.root, "--cpus", "1", "--",
                                      "true"], capture_output=True, check=False, timeout=300)
                self.assertEqual(run.returncode, 1, run.stderr)
            scrape = Scrape(self, agent)
            self.assertEqual(scrape['kubelet_admission_rejections_total{reason="OutOfcpu"}'], 2)

    def test_answers_of_the_api_are_counted(self):
        with Agent(COREHOLD) as agent:
            agent.get(f"{PODS}/none")
            scrape = Scrape(self, agent)
            self.assertGreaterEqual(
                scrape['corehold_api_requests_total{code="404",resource="pods",verb="get"}'], 1)

    def test_board_and_alerts_ask_for_what_there_is(self):
        with Agent(COREHOLD) as agent:
            scrape = Scrape(self, agent)
        board = json.loads(BOARD.read_text(encoding="utf-8"))
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        queries += [each["expr"] for each in board["annotations"]["list"]]
        self.assertGreater(len(queries), 10)
        for query in queries:
            # Grafana puts a duration and words in their place.
            query = query.replace("$__rate_interval", "5m").replace("$instance", ".*")
            self.assertTrue(NAME.findall(query), query)
            parsed = self.parse(query)
            self.assertEqual(parsed.returncode, 0, f"{query}: {parsed.stdout}{parsed.stderr}")
        # Descriptions are words, not queries.
        alerts = "\n".join(re.findall(r"^\s*expr: (.*)$", ALERTS.read_text(encoding="utf-8"), re.M))
        for name in set(NAME.findall("\n".join([*queries, alerts]))):
            self.assertTrue(scrape.knows(name), name)

    def parse(self, query):
        """promtool reads a query only as part of a rule."""
        rule = {"groups": [{"name": "a", "rules": [{"record": "a:b", "expr": query}]}]}
        return promtool("check", "rules", "/dev/stdin", text=json.dumps(rule))

    def test_alerts_are_well_formed_and_fire_when_they_should(self):
        checked = promtool("check", "rules", str(ALERTS))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        tested = promtool("test", "rules", str(ALERTS.with_name("alerts_test.yml")))
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_what_the_manager_counts_is_described(self):
        with Agent(COREHOLD) as agent:
            scrape = Scrape(self, agent)
        names = set()
        for path in (SOURCE / "src" / "manager").glob("**/*.cc"):
            if not path.name.endswith("_test.cc") and path.name != "testing.cc":
                names |= set(re.findall(r'"((?:corehold|kubelet)_[a-z0-9_]+)"',
                                        path.read_text(encoding="utf-8")))
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertIn(name, scrape.types)


if __name__ == "__main__":
    unittest.main()
