// SPDX-License-Identifier: Apache-2.0
//
// Hints and merging: the scenarios the kubelet's own code was measured on, and the cost
// against the number of NUMA nodes and of providers, which must not explode.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "hints/cpu_hints.h"
#include "hints/family.h"
#include "hints/merge.h"
#include "topology/testing.h"

namespace corehold {
namespace {

// Every hint of a request on an idle machine, written down.
void list_cpu_hints(benchmark::State& state, const char* shape, int cpus, SocketAlignment alignment,
                    std::size_t hints, long kubelet_ns) {
  const Topology topology = machine(shape, Numbering::kThreadsFar);
  for (auto _ : state) {
    const auto list = list_hints(cpu_hints(topology, topology.cpus(), {}, cpus, alignment));
    if (list.size() != hints) state.SkipWithError("not the hints that were expected");
    benchmark::DoNotOptimize(list.data());
  }
  state.SetLabel(fmt::format("kubelet {} ns, {} hints", kubelet_ns, hints));
}

constexpr auto kPlain = SocketAlignment::kIgnored;
constexpr auto kSockets = SocketAlignment::kPreferred;
BENCHMARK_CAPTURE(list_cpu_hints, numa8_128_n20, "2s4n8c2t", 20, kPlain, 247, 5'815'159);
BENCHMARK_CAPTURE(list_cpu_hints, numa8_128_n20_sockets, "2s4n8c2t", 20, kSockets, 247, 7'916'537);
BENCHMARK_CAPTURE(list_cpu_hints, numa8_256_n40, "2s4n16c2t", 40, kPlain, 247, 11'912'582);
BENCHMARK_CAPTURE(list_cpu_hints, numa8_512_n100, "2s4n32c2t", 100, kPlain, 247, 28'800'036);
BENCHMARK_CAPTURE(list_cpu_hints, numa16_128_n20, "4s4n4c2t", 20, kPlain, 65399, 1'980'472'874);

// 10 to itself, 20 inside a group of four, 32 otherwise.
NumaMap numa(int nodes) {
  NumaMap map;
  map.distances.resize(static_cast<std::size_t>(nodes));
  for (int from = 0; from < nodes; ++from) {
    map.nodes.insert(NodeId(from));
    for (int to = 0; to < nodes; ++to) {
      const int distance = from == to ? 10 : from / 4 == to / 4 ? 20 : 32;
      map.distances[static_cast<std::size_t>(from)].push_back(distance);
    }
  }
  return map;
}

enum class Preferred { kSingleNodes, kNone };

// Every provider lists every subset of the nodes.
void merge_lists(benchmark::State& state, int nodes, int providers, bool closest,
                 Preferred preferred, long kubelet_ns) {
  const NumaMap map = numa(nodes);
  Threshold all{.within = map.nodes};
  HintFamily lists;
  lists.listed = list_hints({.threshold = all});
  for (Hint& hint : lists.listed) {
    hint.preferred = preferred == Preferred::kSingleNodes && hint.nodes->size() == 1;
  }
  const std::vector<ResourceHints> resources(static_cast<std::size_t>(providers),
                                             {.resource = "r", .family = lists});
  const TopologyOptions options{.policy = TopologyPolicy::kBestEffort,
                                .prefer_closest_numa = closest};
  for (auto _ : state) benchmark::DoNotOptimize(merge(map, resources, options));
  if (kubelet_ns > 0) state.SetLabel(fmt::format("kubelet {} ns", kubelet_ns));
}

constexpr auto kSingle = Preferred::kSingleNodes;
BENCHMARK_CAPTURE(merge_lists, numa4_providers3, 4, 3, false, kSingle, 1'161'135);
BENCHMARK_CAPTURE(merge_lists, numa6_providers3, 6, 3, false, kSingle, 78'017'813);
BENCHMARK_CAPTURE(merge_lists, numa8_providers1, 8, 1, false, kSingle, 48'936);
BENCHMARK_CAPTURE(merge_lists, numa8_providers2, 8, 2, false, kSingle, 15'169'632);
BENCHMARK_CAPTURE(merge_lists, numa8_providers2_closest, 8, 2, true, kSingle, 12'515'604);
BENCHMARK_CAPTURE(merge_lists, numa8_providers3, 8, 3, false, kSingle, 4'800'036'177);
BENCHMARK_CAPTURE(merge_lists, numa8_providers3_closest, 8, 3, true, kSingle, 5'113'635'830);
BENCHMARK_CAPTURE(merge_lists, numa8_providers3_none_preferred, 8, 3, false, Preferred::kNone, 0);
BENCHMARK_CAPTURE(merge_lists, numa12_providers2, 12, 2, false, kSingle, 3'875'618'501);
BENCHMARK_CAPTURE(merge_lists, numa16_providers1, 16, 1, false, kSingle, 11'477'625);

// Providers as they are: each needs three nodes' worth of its resource, of which the nodes
// have different amounts left. Preferred are sets of three. In the crossed case every second
// provider has nothing left on even nodes and the others nothing on odd ones, so nothing is
// preferred by all and the best intersection must be searched for.
enum class Free { kMostly, kCrossed };

std::vector<ResourceHints> providers(const NumaMap& map, int count, Free free) {
  std::vector<ResourceHints> resources;
  for (int provider = 0; provider < count; ++provider) {
    HintFamily family;
    Threshold& threshold = family.threshold.emplace();
    threshold.within = map.nodes;
    Need need{.amount = 48};
    const int wanted = std::min(3, map.nodes.size());
    for (const NodeId node : map.nodes) {
      int amount = 16 + (node.value * 7 + provider * 5) % 3;
      if (free == Free::kCrossed && node.value % 2 == provider % 2) amount = 0;
      need.piles.push_back({.nodes = {node}, .amount = amount});
    }
    need.amount = 16 * wanted;
    threshold.needs.push_back(std::move(need));
    family.preference.size = wanted;
    resources.push_back({.resource = fmt::format("r{}", provider), .family = family});
  }
  return resources;
}

void merge_scale(benchmark::State& state, Free free, TopologyPolicy policy, bool closest) {
  const auto nodes = static_cast<int>(state.range(0));
  const NumaMap map = numa(nodes);
  const auto resources = providers(map, static_cast<int>(state.range(1)), free);
  const TopologyOptions options{
      .policy = policy, .prefer_closest_numa = closest, .max_numa_nodes = 64};
  for (auto _ : state) {
    const Merged merged = merge(map, resources, options);
    if (!merged.exact) state.SkipWithError("not exact");
    benchmark::DoNotOptimize(merged);
  }
}

void scales(benchmark::internal::Benchmark* bench) {
  for (const int nodes : {1, 2, 4, 8, 16, 32, 64}) bench->Args({nodes, 3});
  for (const int count : {1, 2, 4, 5}) bench->Args({64, count});
}

constexpr auto kBest = TopologyPolicy::kBestEffort;
BENCHMARK_CAPTURE(merge_scale, preferred, Free::kMostly, kBest, false)->Apply(scales);
BENCHMARK_CAPTURE(merge_scale, preferred_closest, Free::kMostly, kBest, true)->Apply(scales);
BENCHMARK_CAPTURE(merge_scale, crossed, Free::kCrossed, kBest, false)->Apply(scales);
BENCHMARK_CAPTURE(merge_scale, crossed_closest, Free::kCrossed, kBest, true)->Apply(scales);

}  // namespace
}  // namespace corehold
