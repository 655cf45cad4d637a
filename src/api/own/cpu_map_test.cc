// SPDX-License-Identifier: Apache-2.0
#include "api/own/cpu_map.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

std::chrono::milliseconds any_time() {
  return std::chrono::milliseconds(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000));
}

CpuHolder any_holder(const Topology& machine) {
  CpuHolder holder{
      .namespace_name = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)),
      .pod = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)),
      .uid = "7f0c1d52",
      .container = "main"};
  holder.assigned = random_subset(chance, machine, machine.cpus());
  holder.promised = random_subset(chance, machine, holder.assigned);
  if (chance(0, 1) == 1) holder.pending = holder.promised;
  if (chance(0, 1) == 1) holder.pending_for = std::chrono::milliseconds{chance(0, 10000)};
  holder.pending_until = any_time();
  holder.numa = machine.nodes_of(holder.assigned);
  holder.since = any_time();
  return holder;
}

CpuMap any_map() {
  CpuMap map{.node = "box", .topology = random_machine(chance, 96), .policy = "static"};
  map.options = {"full-pcpus-only", "strict-cpu-reservation"};
  const CpuSet& all = map.topology.cpus();
  map.reserved = random_subset(chance, map.topology, all);
  map.shared = random_subset(chance, map.topology, all);
  map.free = random_subset(chance, map.topology, map.shared);
  map.offline = random_subset(chance, map.topology, all);
  map.settings = {.topology_policy = "restricted",
                  .topology_scope = "pod",
                  .topology_options = {"prefer-closest-numa-nodes"},
                  .gates = {{"CPUManagerPolicyAlphaOptions", chance(0, 1) == 1}},
                  .idle_gates = {{"Other", chance(0, 1) == 1}},
                  .declared_features = {"A", "B/c"},
                  .undeclared_features = {{"C", "its gate is off"}},
                  .scale_delay = std::chrono::milliseconds(chance(0, 10'000)),
                  .reconcile_period = std::chrono::milliseconds(chance(1, 1'000'000)),
                  .min_shared = chance(0, 4),
                  .isolation = chance(0, 1) == 0 ? "" : "fence"};
  for (int i = chance(0, 5); i > 0; --i) map.containers.push_back(any_holder(map.topology));
  return map;
}

RC_GTEST_PROP(CpuMap, ComesBackAsItWent, ()) {
  const CpuMap map = any_map();
  const auto back = cpu_map_from_json(json::parse(json::serialize(to_json(map))));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->node == map.node);
  RC_ASSERT(back->policy == map.policy);
  RC_ASSERT(back->options == map.options);
  RC_ASSERT(back->settings == map.settings);
  RC_ASSERT(back->reserved == map.reserved);
  RC_ASSERT(back->shared == map.shared);
  RC_ASSERT(back->free == map.free);
  RC_ASSERT(back->offline == map.offline);
  RC_ASSERT(back->containers == map.containers);
  RC_ASSERT(back->topology.places() == map.topology.places());
  RC_ASSERT(back->topology.distances() == map.topology.distances());
  RC_ASSERT(back->topology.without_l3() == map.topology.without_l3());
  RC_ASSERT(back->topology.memory_nodes() == map.topology.memory_nodes());
}

TEST(CpuMap, KeepsWhatIsUnusualAboutAMachine) {
  TopologyParts parts;
  parts.places = {{CpuId(0), CoreId(0), SocketId(0), NodeId(0), UncoreId(7)},
                  {CpuId(4), CoreId(1), SocketId(0), NodeId(0), UncoreId(9)}};
  parts.memory_nodes = nodes("3");
  parts.distances = {{NodeId(0), {{NodeId(0), 10}, {NodeId(3), 28}}},
                     {NodeId(3), {{NodeId(0), 28}, {NodeId(3), 10}}}};
  parts.isolated = cpus("4");
  parts.without_l3 = cpus("4");
  parts.memory = {{NodeId(3), {{"memory", 1 << 20}}}};
  const CpuMap map{.topology = *Topology::make(parts)};
  const auto back = cpu_map_from_json(to_json(map));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->topology.places(), parts.places);
  EXPECT_EQ(back->topology.memory_nodes(), parts.memory_nodes);
  EXPECT_EQ(back->topology.distance(NodeId(0), NodeId(3)), 28);
  EXPECT_EQ(back->topology.isolated(), parts.isolated);
  EXPECT_EQ(back->topology.without_l3(), parts.without_l3);
  EXPECT_EQ(back->topology.memory(), parts.memory);
}

std::string problem_with(const json::value& value) {
  const auto map = cpu_map_from_json(value);
  return map ? "" : map.error().message;
}

TEST(CpuMap, NamesTheFieldThatIsWrong) {
  const json::object good = to_json(CpuMap{.topology = machine("1s2c2t")});
  json::object bad = good;
  bad["shared"] = "0-x";
  EXPECT_TRUE(problem_with(bad).starts_with("shared: ")) << problem_with(bad);
  bad = good;
  bad["machine"].at("cpuPlaces").at(1).get_object()["core"] = "1";
  EXPECT_EQ(problem_with(bad), "machine.cpuPlaces[1].core: must be a whole number");
  bad = good;
  bad["machine"].at("cpuPlaces").at(1).get_object()["cpu"] = 1 << 20;
  EXPECT_EQ(problem_with(bad), "machine.cpuPlaces[1].cpu: is too large");
  bad = good;
  bad["machine"].at("cpuPlaces").at(1).get_object()["cpu"] = 0;
  EXPECT_TRUE(problem_with(bad).starts_with("machine: ")) << problem_with(bad);
  bad = good;
  bad["containers"] = json::array{json::object{{"since", "yesterday"}}};
  EXPECT_TRUE(problem_with(bad).starts_with("containers[0].since: ")) << problem_with(bad);
  EXPECT_EQ(problem_with(json::object{{"kind", "CpuMap"}}), "machine: is missing");
  EXPECT_EQ(problem_with(json::object{{"kind", "Pod"}}), "kind: must be CpuMap, not \"Pod\"");
  EXPECT_EQ(problem_with(json::array()), "must be an object");
}

// Any member of a good answer replaced by something of another type is read or refused.
RC_GTEST_PROP(CpuMap, IsReadOrRefusedWhateverIsInIt, ()) {
  json::object object = to_json(any_map());
  const std::vector<json::value> others{
      nullptr, true, -1, 1e300, "x", json::array{1}, json::object{{"a", 1}}};
  const auto pick = static_cast<std::size_t>(chance(0, static_cast<int>(others.size()) - 1));
  const auto at = static_cast<std::size_t>(chance(0, static_cast<int>(object.size()) - 1));
  auto& machine = object["machine"].get_object();
  if (chance(0, 1) == 0) {
    (object.begin() + static_cast<std::ptrdiff_t>(at))->value() = others[pick];
  } else {
    (machine.begin() + static_cast<std::ptrdiff_t>(at % machine.size()))->value() = others[pick];
  }
  const auto map = cpu_map_from_json(object);
  if (!map) RC_ASSERT(!map.error().message.empty());
}

}  // namespace
}  // namespace corehold
