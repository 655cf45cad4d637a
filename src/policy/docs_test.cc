// SPDX-License-Identifier: Apache-2.0
//
// What docs/policies.md shows, section by section: its tables, its examples and its
// error texts. A test that fails here means that the page has to change too.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/code.h"
#include "pod/qos.h"
#include "pod/scale_delay.h"
#include "policy/none_policy.h"
#include "policy/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using Amounts = std::map<std::string, std::string>;

ResourceList list_of(const Amounts& amounts) {
  ResourceList list;
  for (const auto& [name, amount] : amounts) list[name] = *Quantity::parse(amount);
  return list;
}

// The class of a pod with one such container, and the CPUs of that container.
std::string row(const Amounts& requests, const Amounts& limits) {
  Pod pod{.name = "p", .uid = "p"};
  pod.containers.push_back(
      {.name = "c", .resources = {.requests = list_of(requests), .limits = list_of(limits)}});
  set_defaults(pod);
  Node node(machine("1s8c"), {.reserved = cpus("0"), .reserved_count = 1});
  return std::string(name_of(qos_class(pod, {}))) + " " + node.ask(pod);
}

TEST(DocsStatic, TableOfContainers) {
  EXPECT_EQ(row({}, {}), "BestEffort c=shared");
  EXPECT_EQ(row({{"memory", "1Gi"}}, {}), "Burstable c=shared");
  EXPECT_EQ(row({{"cpu", "1"}, {"memory", "1Gi"}}, {{"cpu", "2"}, {"memory", "1Gi"}}),
            "Burstable c=shared");
  EXPECT_EQ(row({{"cpu", "1500m"}, {"memory", "1Gi"}}, {{"cpu", "1500m"}, {"memory", "1Gi"}}),
            "Guaranteed c=shared");
  EXPECT_EQ(row({{"cpu", "2"}, {"memory", "1Gi"}}, {{"cpu", "2"}, {"memory", "1Gi"}}),
            "Guaranteed c=1-2");
  EXPECT_EQ(row({}, {{"cpu", "2"}, {"memory", "1Gi"}}), "Guaranteed c=1-2");
  EXPECT_EQ(row({{"cpu", "2"}}, {{"cpu", "2"}}), "Burstable c=shared");
}

TEST(DocsStatic, ReservedCpusAreTakenFromTheLowestCoreAndStayShared) {
  Node node(machine("2s8c2t"), {.reserved_count = 3});
  EXPECT_EQ(node.policy().reserved(), cpus("0-2"));
  EXPECT_EQ(node.state().shared, cpus("0-31"));
  EXPECT_EQ(node.ask("p/c", 2), "4-5");
}

TEST(DocsStatic, DoesNotStartWithoutAReservedCpu) {
  const Node node(machine("1s8c"), {});
  const auto start = node.policy().check_start(node.state());
  ASSERT_FALSE(start);
  EXPECT_EQ(start.error().code, Code::kInvalid);
}

TEST(DocsStatic, InitContainersLeaveTheirCpusAndSidecarsKeepThem) {
  Node node(machine("1s8c"), {.reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("p/init", 3, {}, Container::Kind::kInit), "1-3");
  EXPECT_EQ(node.ask("p/sidecar", 1, {}, Container::Kind::kSidecar), "1");
  EXPECT_EQ(node.ask("p/main", 1), "2");
  node.release("p/init");
  EXPECT_EQ(node.state().shared, cpus("0,3-7"));
}

// Two sockets of eight two-thread cores, siblings side by side, all free.
std::string packed(int count) { return Node(machine("2s8c2t"), {}).ask("p/c", count); }

TEST(DocsStatic, TableOfWhichCpus) {
  EXPECT_EQ(packed(4), "0-3");
  EXPECT_EQ(packed(3), "0-2");
  EXPECT_EQ(packed(19), "0-18");
}

TEST(DocsStatic, SaysHowManyAreFree) {
  Node node(machine("2s8c2t"), {});
  node.ask("p/c", 16);
  EXPECT_EQ(node.ask("q/c", 17),
            "not enough cpus available to satisfy request: requested=17, available=16");
}

TEST(DocsNone, LeavesCpuSetsAlone) {
  const auto plan = NonePolicy().allocate({}, {.container = {"p", "c"}, .cpus = 2});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->edits.empty());
}

bool accepted(const std::string& option, const PolicyGates& gates) {
  return parse_static_options({{option, "true"}}, gates).has_value();
}

TEST(DocsOptions, TableOfStages) {
  constexpr PolicyGates kAllOff{.alpha_options = false, .beta_options = false};
  constexpr PolicyGates kDefault{};
  constexpr PolicyGates kAlpha{.alpha_options = true};
  for (const char* stable :
       {"full-pcpus-only", "strict-cpu-reservation", "prefer-align-cpus-by-uncorecache"}) {
    EXPECT_TRUE(accepted(stable, kAllOff)) << stable;
  }
  EXPECT_FALSE(accepted("distribute-cpus-across-numa", kAllOff));
  EXPECT_TRUE(accepted("distribute-cpus-across-numa", kDefault));
  for (const char* alpha : {"align-by-socket", "distribute-cpus-across-cores"}) {
    EXPECT_FALSE(accepted(alpha, kDefault)) << alpha;
    EXPECT_TRUE(accepted(alpha, kAlpha)) << alpha;
  }
  EXPECT_FALSE(parse_static_options({{"scale-delay-time", "0s"}}, kDefault));
  EXPECT_TRUE(parse_static_options({{"scale-delay-time", "0s"}}, kAlpha));
}

TEST(DocsOptions, FullPcpusOnly) {
  Node node(machine("2s8c2t"), {.options = {.full_pcpus_only = true}});
  EXPECT_EQ(node.ask("p/c", 3),
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_EQ(admission_reason(node.last_code()), "SMTAlignmentError");
  EXPECT_EQ(node.ask("p/c", 4), "0-3");
}

TEST(DocsOptions, StrictCpuReservation) {
  const CpuSet reserved = cpus("0,32,1,33,16,48");
  StaticConfig config{.reserved = reserved, .reserved_count = 6};
  const Node lenient(machine("2s16c2t"), config);
  EXPECT_EQ(lenient.state().shared, cpus("0-63"));
  config.options.strict_cpu_reservation = true;
  const Node strict(machine("2s16c2t"), config);
  EXPECT_EQ(strict.state().shared, cpus("2-15,17-31,34-47,49-63"));
  // Over a checkpoint made the other way.
  EXPECT_EQ(strict.policy().start(lenient.state()).error().code, Code::kConflict);
  EXPECT_EQ(lenient.policy().start(strict.state()).error().code, Code::kConflict);
}

TEST(DocsOptions, StrictCpuReservationKeepsMinSharedCpus) {
  Node node(
      machine("1s8c"),
      {.options = {.strict_cpu_reservation = true}, .reserved = cpus("0"), .reserved_count = 1});
  node.ask("p/c", 7);
  EXPECT_EQ(node.last_code(), Code::kExhausted);
  EXPECT_EQ(node.ask("p/c", 6), "1-6");
}

TEST(DocsOptions, PreferAlignCpusByUncorecache) {
  const StaticOptions uncore{.prefer_align_by_uncore = true};
  Node eight(machine("1s8l8c"), {.options = uncore, .reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(eight.ask("p/c", 10), "1-2,8-15");
  Node two(machine("1s2l3c"), {.options = uncore, .reserved = cpus("1-3"), .reserved_count = 3});
  EXPECT_EQ(two.ask("p/c", 2), "4-5");
}

std::string across_numa(int count, StaticOptions options = {}) {
  options.distribute_across_numa = true;
  return Node(machine("2s8c2t"), {.options = options}).ask("p/c", count);
}

TEST(DocsOptions, DistributeCpusAcrossNuma) {
  EXPECT_EQ(packed(20), "0-19");
  EXPECT_EQ(across_numa(20), "0-9,16-25");
  EXPECT_EQ(packed(12), "0-11");
  EXPECT_EQ(across_numa(12), "0-11");
  // With full-pcpus-only the shares are whole cores: 18 is five cores and four.
  EXPECT_EQ(across_numa(18, {.full_pcpus_only = true}), "0-9,16-23");
}

// Two sockets of four NUMA nodes, 16 CPUs a node, 8 free in each.
Node half_free(const StaticOptions& options) {
  return Node(machine("2s4n16c"),
              {.options = options,
               .reserved = cpus("8-15,24-31,40-47,56-63,72-79,88-95,104-111,120-127"),
               .reserved_count = 64});
}

TEST(DocsOptions, AlignBySocketTreatsTheNodesOfASocketAlike) {
  const NodeSet first_two{NodeId(0), NodeId(1)};
  EXPECT_EQ(half_free({}).ask("p/c", 12, first_two), "0-7,16-19");
  EXPECT_EQ(half_free({}).ask("p/c", 12, NodeSet{NodeId(5)}), "64-67,80-87");
  EXPECT_EQ(half_free({.align_by_socket = true}).ask("p/c", 12, NodeSet{NodeId(5)}), "64-71,80-83");
}

// The same machine, and in socket 0 only node 0 has 8 free CPUs.
TEST(DocsOptions, AlignBySocketTakesFromTheSocketsOfTheChosenNodesFirst) {
  const auto given = [](const StaticOptions& options) {
    return Node(machine("2s4n16c"), {.options = options,
                                     .reserved = cpus("8-63,72-79,88-95,104-111,120-127"),
                                     .reserved_count = 88})
        .ask("p/c", 12, NodeSet{NodeId(5)});
  };
  EXPECT_EQ(given({}), "0-3,80-87");
  EXPECT_EQ(given({.align_by_socket = true}), "64-71,80-83");
}

TEST(DocsOptions, AlignBySocketIsRefusedBesideSingleNumaNode) {
  const StaticOptions aligned{.align_by_socket = true};
  EXPECT_FALSE(check_static_options(aligned, machine("2s4n16c"), TopologyPolicy::kSingleNumaNode));
  EXPECT_FALSE(check_static_options(aligned, machine("1n2s8c"), TopologyPolicy::kNone));
  EXPECT_TRUE(check_static_options(aligned, machine("2s4n16c"), TopologyPolicy::kRestricted));
}

// 4 CPUs of eight two-thread cores.
std::string four_of(Numbering numbering, const StaticOptions& options) {
  return Node(machine("1s8c2t", numbering), {.options = options}).ask("p/c", 4);
}

TEST(DocsOptions, DistributeCpusAcrossCores) {
  const StaticOptions across{.distribute_across_cores = true};
  EXPECT_EQ(four_of(Numbering::kThreadsFar, {}), "0-1,8-9");
  EXPECT_EQ(four_of(Numbering::kThreadsFar, across), "0-3");
  EXPECT_EQ(four_of(Numbering::kNeighbours, across), "0-3");
}

TEST(DocsOptions, ScaleDelayTime) {
  for (const char* good : {"0s", "5s", "500ms", "1.5s", "10s"}) {
    EXPECT_TRUE(parse_scale_delay(good)) << good;
  }
  EXPECT_FALSE(parse_scale_delay("11s"));
  const PolicyGates no_resize{.alpha_options = true};
  EXPECT_FALSE(parse_static_options({{"scale-delay-time", "5s"}}, no_resize));
}

TEST(DocsOptions, OnlyTwoPairsExcludeEachOther) {
  const std::vector<std::string> names{
      "full-pcpus-only", "strict-cpu-reservation",      "prefer-align-cpus-by-uncorecache",
      "align-by-socket", "distribute-cpus-across-numa", "distribute-cpus-across-cores"};
  std::vector<std::string> excluded;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      const auto options =
          parse_static_options({{names[i], "true"}, {names[j], "true"}}, {.alpha_options = true});
      if (!options) excluded.push_back(names[i] + " " + names[j]);
    }
  }
  EXPECT_EQ(excluded,
            (std::vector<std::string>{"full-pcpus-only distribute-cpus-across-cores",
                                      "distribute-cpus-across-numa distribute-cpus-across-cores"}));
}

}  // namespace
}  // namespace corehold
