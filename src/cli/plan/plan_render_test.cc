// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_render.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/plan/plan_testing.h"
#include "cli/plan/plan_text.h"
#include "topology/testing.h"

namespace corehold {
namespace {

// 0-7 and 8-15 are L3 caches of socket and NUMA node 0, 16-31 likewise of 1.
class PlanRendering : public testing::Test {
 protected:
  PlanPage page() const { return {machine_, report_, {}}; }

  Topology machine_ = machine("2s2l4c2t");
  PlanReport report_ = report_of(machine_, {{"telco/upf-0", "fast-path", "2-5"},
                                            {"telco/upf-0", "log", ""},
                                            {"db/pg-0", "postgres", "16-23"}});
};

TEST_F(PlanRendering, TableSaysWhoHasWhat) {
  report_.pods[0].containers[1].cpu_request = "100m";
  EXPECT_EQ(
      render_plan_table(page()),
      "machine    2 sockets, 2 NUMA nodes, 4 L3 caches, 16 cores, 32 CPUs\n"
      "policy     static\n"
      "topology   none\n"
      "reserved   0-1              2 CPUs\n"
      "shared     0-1,6-15,24-31  20 CPUs, 18 free to give\n"
      "exclusive  2-5,16-23       12 CPUs in 2 containers\n"
      "pods       2 pods, all admitted\n"
      "\n"
      "#  POD          CONTAINER  QOS         CPUS  ASSIGNED  NUMA  ALIGNED\n"
      "1  telco/upf-0  fast-path  Guaranteed  4     2-5       0     core, L3, NUMA, socket\n"
      "1  telco/upf-0  log        Guaranteed  100m  shared    -     -\n"
      "2  db/pg-0      postgres   Guaranteed  8     16-23     1     core, L3, NUMA, socket\n");
}

TEST_F(PlanRendering, TableHasABlockForEachRefusal) {
  report_.pods[1].refusal = PlannedRefusal{.reason = "OutOfcpu",
                                           .container = "postgres",
                                           .text = "not enough cpus available",
                                           .rule = "only CPUs that nobody holds are given",
                                           .missing = "8 CPUs asked for, 6 free, 2 missing",
                                           .fits_empty = true,
                                           .holders = {{"telco/upf-0", "fast-path", "cpu", "2-5"},
                                                       {"a/b", "c", "memory", "4Gi in NUMA 0"},
                                                       {"db/pg-0", "first", "cpu", "6"}}};
  const std::string table = render_plan_table(page());
  EXPECT_NE(table.find("pods       2 pods, 1 admitted, 1 refused\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\nrefused  #2 db/pg-0, container postgres: OutOfcpu\n"
                       "text     not enough cpus available\n"
                       "rule     only CPUs that nobody holds are given\n"
                       "missing  8 CPUs asked for, 6 free, 2 missing\n"
                       "held by  telco/upf-0  fast-path  2-5\n"
                       "         a/b          c          memory 4Gi in NUMA 0\n"
                       "         this pod     first      6\n"
                       "alone    an empty node would admit it\n"),
            std::string::npos)
      << table;
}

TEST_F(PlanRendering, LongListsOfHoldersAreCut) {
  PlannedRefusal refusal{.reason = "OutOfcpu"};
  for (int i = 0; i < 20; ++i) {
    refusal.holders.push_back({"a/" + std::to_string(i), "c", "cpu", "6"});
  }
  report_.pods[1].refusal = refusal;
  EXPECT_NE(refusal_text(report_.pods[1]).find("\n         and 12 containers more\n"),
            std::string::npos)
      << refusal_text(report_.pods[1]);
}

TEST_F(PlanRendering, ShowsMemoryAndDevicesWhereThereAreAny) {
  PlannedContainer& container = report_.pods[0].containers[0];
  container.memory = {{"hugepages-1Gi", 2LL << 30}, {"memory", 1536LL << 20}};
  container.memory_nodes = {NodeId(0)};
  container.devices = {{"example.com/nic", {"nic-0", "nic-1"}}};
  const std::string table = render_plan_table(page());
  EXPECT_NE(table.find("1536Mi memory + 2Gi hugepages-1Gi in NUMA 0  nic-0,nic-1  core, L3"),
            std::string::npos)
      << table;
}

TEST_F(PlanRendering, NotesThatAKubeletCountsRequests) {
  report_.requested_milli = 31500;
  report_.allocatable_milli = 30000;
  EXPECT_NE(render_plan_table(page()).find("note       admitted pods request 31500m CPUs of 30 "
                                           "allocatable; a kubelet would refuse some of them "
                                           "(OutOfcpu)\n"),
            std::string::npos);
}

TEST_F(PlanRendering, EscapesNames) {
  report_.pods[0].name = "evil/\x1b[31m\n";
  EXPECT_NE(render_plan_table(page()).find("evil/\\x1b[31m\\n  fast-path"), std::string::npos);
  EXPECT_NE(render_explanation(page(), report_.pods[0]).find("evil/\\x1b[31m\\n\n"),
            std::string::npos);
}

TEST_F(PlanRendering, SaysWhereFewerWouldDo) {
  const auto fit = [&](std::string_view list) {
    return summarize(machine_, fit_of(machine_, machine_.cpus(), cpus(list)));
  };
  EXPECT_EQ(fit("2-5"), "core, L3, NUMA, socket");
  EXPECT_EQ(fit("2-13"), "core, 2 L3, NUMA, socket");
  EXPECT_EQ(fit("6-9"), "core, 2 L3 (1 would do), NUMA, socket");
  EXPECT_EQ(fit("2-4"), "1 core split, L3, NUMA, socket");
  EXPECT_EQ(fit("14-17"), "core, 2 L3 (1 would do), 2 NUMA (1 would do), 2 sockets (1 would do)");
}

TEST_F(PlanRendering, JsonHoldsTheSame) {
  const auto json = boost::json::parse(render_plan_json(page(), &report_.pods[0]));
  EXPECT_EQ(json.at("free").as_string(), "6-15,24-31");
  EXPECT_EQ(json.at("pods").at(1).at("containers").at(0).at("assigned").as_string(), "16-23");
  EXPECT_EQ(json.at("explain").at("pod").as_string(), "telco/upf-0");
  EXPECT_EQ(boost::json::parse(render_plan_json(page())).as_object().if_contains("explain"),
            nullptr);
}

TEST_F(PlanRendering, ExplainsTheWholeChain) {
  report_.topology_options.policy = TopologyPolicy::kRestricted;
  report_.pods[0].qos_reason = "of its limits";
  PlannedContainer& container = report_.pods[0].containers[0];
  const auto hint = [](NodeSet nodes, bool preferred) {
    return Hint{.nodes = nodes, .preferred = preferred};
  };
  container.alignment =
      AlignmentShown{.resources = {{.resource = "cpu",
                                    .count = 3,
                                    .hints = {hint({NodeId(0)}, true), hint({NodeId(1)}, true),
                                              hint({NodeId(0), NodeId(1)}, false)}},
                                   {.resource = "example.com/nic", .indifferent = true},
                                   {.resource = "memory",
                                    .count = 99,
                                    .at_least = true,
                                    .narrowest = 1,
                                    .hints = {hint({NodeId(0)}, true)}}},
                     .merged = {.hint = hint({NodeId(0)}, true), .admit = true}};
  container.affinity = NodeSet{NodeId(0)};
  container.candidates = cpus("2-31");
  container.near = cpus("2-15");
  EXPECT_EQ(render_explanation(page(), report_.pods[0]),
            "pod       telco/upf-0\n"
            "qos       Guaranteed: of its limits\n"
            "topology  restricted, scope container\n"
            "\n"
            "container   fast-path\n"
            "cpu         4 exclusive: because\n"
            "hints       cpu              NUMA 0 (preferred), NUMA 1 (preferred), NUMA 0-1\n"
            "            example.com/nic  anywhere\n"
            "            memory           NUMA 0 (preferred), ... of more than 99 hints, the "
            "narrowest of 1 NUMA "
            "node\n"
            "merged      NUMA 0 (preferred)\n"
            "verdict     restricted admits it\n"
            "candidates  2-31, 30 CPUs\n"
            "near        2-15, 14 of them in NUMA 0\n"
            "choice      2-5, 4 CPUs: core, L3, NUMA, socket\n"
            "because     all from near; packed: whole sockets, NUMA nodes and cores where it fills "
            "them, then what has the fewest CPUs free, lowest first\n"
            "\n"
            "container  log\n"
            "cpu        shares: because\n"
            "choice     the shared CPUs\n");
}

TEST_F(PlanRendering, ExplainsWhyOtherNodesWereNotChosen) {
  report_.topology_options.policy = TopologyPolicy::kRestricted;
  PlannedContainer& container = report_.pods[0].containers[0];
  const auto on = [](int node) { return Hint{.nodes = NodeSet{NodeId(node)}, .preferred = true}; };
  container.affinity = NodeSet{NodeId(0)};
  container.near = cpus("2-3");
  container.alignment =
      AlignmentShown{.resources = {{.resource = "cpu", .count = 3, .hints = {on(0), on(1), on(2)}},
                                   {.resource = "memory", .count = 2, .hints = {on(0), on(1)}}},
                     .merged = {.hint = on(0), .admit = true}};
  const std::string text = render_explanation(page(), report_.pods[0]);
  EXPECT_NE(text.find("instead of  NUMA 1 (as good, but higher-numbered), NUMA 2 (not preferred by "
                      "memory)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("because     2 from near, 2 from the other candidates; packed"),
            std::string::npos)
      << text;
}

TEST_F(PlanRendering, NearIsAboutSocketsWithAlignBySocket) {
  report_.options = {"align-by-socket"};
  PlannedContainer& container = report_.pods[0].containers[0];
  container.affinity = NodeSet{NodeId(0)};
  container.near = cpus("2-15");
  EXPECT_NE(render_explanation(page(), report_.pods[0])
                .find("near        2-15, 14 of them in the sockets of NUMA 0\n"),
            std::string::npos);
}

TEST_F(PlanRendering, ExplainsThatThereIsNoChoice) {
  PlannedPod& pod = report_.pods[1];
  pod.refusal = PlannedRefusal{.reason = "OutOfcpu", .missing = "8 CPUs asked for, 6 free"};
  pod.containers[0].granted = {};
  EXPECT_NE(render_explanation(page(), pod).find("choice      none: 8 CPUs asked for, 6 free\n"),
            std::string::npos);
  pod.containers[0].is_decided = false;
  EXPECT_NE(render_explanation(page(), pod).find("choice     none: its turn never came\n"),
            std::string::npos);
}

}  // namespace
}  // namespace corehold
