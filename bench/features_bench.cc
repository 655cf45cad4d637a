// SPDX-License-Identifier: Apache-2.0
//
// Declared features: one pod against many nodes. The pod needs two features; node i
// declares the j-th of the nine features if bit j+8 of (i+1)*2654435761 mod 2^32 is set.
#include <malloc.h>

#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "features/fleet.h"
#include "features/known_features.h"
#include "features/match.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

Pod the_pod() {
  return parse_pods_json(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"hostNetwork":true,
      "hostUsers":false,"containers":[{"name":"c","restartPolicyRules":[
      {"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[42]}}]}]}})")
      ->front();
}

Version the_version() { return *Version::parse("1.37.0"); }

FeatureNode node_at(std::uint32_t i) {
  FeatureNode node{.name = fmt::format("node-{:06}", i)};
  const std::uint32_t hash = (i + 1) * 2654435761U;
  const auto features = kubernetes_registry().features();
  for (std::size_t j = 0; j < features.size(); ++j) {
    if (((hash >> (j + 8)) & 1U) != 0) node.declared_features.push_back(features[j].name);
  }
  return node;
}

std::vector<FeatureNode> nodes(std::int64_t count) {
  std::vector<FeatureNode> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(node_at(i));
  return all;
}

Fleet fleet_of(const std::vector<FeatureNode>& all) {
  const Registry& registry = kubernetes_registry();
  Fleet fleet(registry);
  for (const FeatureNode& node : all) {
    CHECK(fleet.set(node.name, declared_set(registry, node)).has_value());
  }
  return fleet;
}

// In use, by the C library's own account.
std::size_t heap_bytes() {
  const auto account = ::mallinfo2();
  return account.uordblks + account.hblkhd;
}

void label(benchmark::State& state, std::size_t fitting, std::int64_t few, std::int64_t many) {
  CHECK(fitting == (state.range(0) == 5000 ? 1253U : 25002U));
  state.SetLabel(fmt::format("kubelet {} ns", state.range(0) == 5000 ? few : many));
}

// From the names in each node's status, one node after the other.
void unprepared(benchmark::State& state) {
  const Registry& registry = kubernetes_registry();
  const Pod pod = the_pod();
  const Version version = the_version();
  const std::vector<FeatureNode> all = nodes(state.range(0));
  std::size_t fitting = 0;
  for (auto _ : state) {
    fitting = 0;
    const FeatureSet required = *registry.infer_for_scheduling(pod, version);
    for (const FeatureNode& node : all) {
      auto found = match_node(registry, required, &node);
      benchmark::DoNotOptimize(found);
      fitting += found->fits ? 1U : 0U;
    }
  }
  label(state, fitting, 1293343, 27426920);
}
BENCHMARK(unprepared)->Name("features/unprepared")->Arg(5000)->Arg(100000);

// Who fits, and what the others lack, in groups.
void prepared(benchmark::State& state) {
  const Registry& registry = kubernetes_registry();
  const Pod pod = the_pod();
  const Version version = the_version();
  const std::vector<FeatureNode> all = nodes(state.range(0));
  const std::size_t before = heap_bytes();
  const Fleet fleet = fleet_of(all);
  state.counters["heap_bytes"] = static_cast<double>(heap_bytes() - before);
  std::size_t fitting = 0;
  for (auto _ : state) {
    const FeatureSet required = *registry.infer_for_scheduling(pod, version);
    auto answer = fleet.answer(required);
    benchmark::DoNotOptimize(answer);
    fitting = answer->fitting_count;
  }
  label(state, fitting, 516046, 10360349);
}
BENCHMARK(prepared)->Name("features/prepared")->Arg(5000)->Arg(100000);

// The same without the groups: who fits.
void fitting_only(benchmark::State& state) {
  const Registry& registry = kubernetes_registry();
  const Pod pod = the_pod();
  const Version version = the_version();
  const Fleet fleet = fleet_of(nodes(state.range(0)));
  std::size_t fitting = 0;
  for (auto _ : state) {
    const FeatureSet required = *registry.infer_for_scheduling(pod, version);
    auto answer = fleet.fitting(required);
    benchmark::DoNotOptimize(answer);
    fitting = answer->count();
  }
  label(state, fitting, 516046, 10360349);
}
BENCHMARK(fitting_only)->Name("features/fitting")->Arg(5000)->Arg(100000);

// One node of many declares something else; by name, a different node each time.
void update(benchmark::State& state) {
  const Registry& registry = kubernetes_registry();
  const std::vector<FeatureNode> all = nodes(state.range(0));
  Fleet fleet = fleet_of(all);
  std::vector<FeatureSet> sets;
  for (std::uint32_t i = 0; i < 64; ++i) sets.push_back(declared_set(registry, node_at(i)));
  std::size_t turn = 0;
  for (auto _ : state) {
    turn = (turn + 7919) % all.size();
    auto done = fleet.set(all[turn].name, sets[turn % sets.size()]);
    benchmark::DoNotOptimize(done);
  }
}
BENCHMARK(update)->Name("features/update")->Arg(5000)->Arg(100000);

void infer(benchmark::State& state) {
  const Pod pod = the_pod();
  const Version version = the_version();
  for (auto _ : state) {
    auto required = kubernetes_registry().infer_for_scheduling(pod, version);
    benchmark::DoNotOptimize(required);
  }
  state.SetLabel("kubelet 98 ns");
}
BENCHMARK(infer)->Name("features/infer");

}  // namespace
}  // namespace corehold
