// SPDX-License-Identifier: Apache-2.0
//
// The static policy on the scenario the kubelet's own code was measured on: 256
// CPUs, caches of 8 cores, 2 reserved, 25 pods with 4 CPUs each; one operation is
// the QoS of a pod, its allocation, and its release. And resizes of one of these pods.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "policy/request.h"
#include "policy/resize/resize.h"
#include "policy/static_policy.h"
#include "topology/testing.h"

namespace corehold {
namespace {

Pod guaranteed_pod(const std::string& uid, int cpus) {
  Container container{.name = "c"};
  for (ResourceList* list : {&container.resources.requests, &container.resources.limits}) {
    (*list)["cpu"] = *Quantity::parse(fmt::format("{}", cpus));
    (*list)["memory"] = *Quantity::parse("1Gi");
  }
  return Pod{.name = uid, .uid = uid, .containers = {container}};
}

void allocate_and_release(benchmark::State& state, StaticOptions options, int cpus,
                          long kubelet_ns) {
  const Topology topology = machine("2s8l8c2t", Numbering::kThreadsFar);
  const auto policy = StaticPolicy::make(topology, {.options = options, .reserved_count = 2});
  State node = *policy->start({});
  const auto admit = [&](const Pod& pod) {
    const auto plan = policy->allocate(node, request_of(pod, pod.containers.front(), {}, {}));
    if (plan) apply(node, *plan);
    return plan.has_value();
  };
  for (int i = 0; i < 25; ++i) admit(guaranteed_pod(fmt::format("pod-{}", i), 4));
  const Pod pod = guaranteed_pod("measured", cpus);
  for (auto _ : state) {
    if (!admit(pod)) state.SkipWithError("not admitted");
    apply(node, policy->release(node, {.pod = "measured", .container = "c"}));
  }
  state.SetLabel(fmt::format("kubelet {} ns", kubelet_ns));
}

// A node with 25 pods, one of which is to be resized.
struct FullNode {
  FullNode(const StaticOptions& options, TopologyPolicy alignment, int cpus)
      : policy(StaticPolicy::make(topology, {.options = options, .reserved_count = 2})),
        rules{.topology = topology,
              .policy = *policy,
              .topology_options = {.policy = alignment},
              .pod_gates = {},
              .pod_name = {}},
        bookings{.cpus = *policy->start({}), .memory = {}, .devices = {}},
        large(guaranteed_pod("pod-12", cpus)) {
    for (int i = 0; i < 25; ++i) {
      admit(rules, bookings, guaranteed_pod(fmt::format("pod-{}", i), 4));
    }
  }

  Topology topology = machine("2s8l8c2t", Numbering::kThreadsFar);
  Result<StaticPolicy> policy;
  AdmissionRules rules;
  Bookings bookings;
  ResizeGates gates{.in_place = true, .exclusive_cpus = true};
  Pod small = guaranteed_pod("pod-12", 4);
  Pod large;
};

// The decision to grow a container, and the one to shrink it again.
enum class Way { kUp, kDown };
void decide(benchmark::State& state, Way way, StaticOptions options, TopologyPolicy alignment,
            int cpus) {
  const FullNode node(options, alignment, cpus);
  Bookings grown = node.bookings;
  const ResizeDecision growth =
      decide_resize(node.rules, node.gates, node.bookings, node.small, node.large);
  if (growth.refusal) return state.SkipWithError(growth.refusal->message.c_str());
  apply(grown.cpus, begin_resize(grown.cpus, "pod-12", growth));
  const bool up = way == Way::kUp;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide_resize(node.rules, node.gates, up ? node.bookings : grown,
                                           up ? node.small : node.large,
                                           up ? node.large : node.small));
  }
}

void grow(benchmark::State& state, StaticOptions options, TopologyPolicy alignment, int cpus) {
  decide(state, Way::kUp, options, alignment, cpus);
}

void shrink(benchmark::State& state, StaticOptions options, TopologyPolicy alignment, int cpus) {
  decide(state, Way::kDown, options, alignment, cpus);
}

// A resize that has to wait: who would have to leave is looked for as well.
void defer_resize(benchmark::State& state, StaticOptions options, TopologyPolicy alignment,
                  int cpus) {
  const FullNode node(options, alignment, cpus);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        decide_resize(node.rules, node.gates, node.bookings, node.small, node.large));
  }
}

constexpr StaticOptions kNone{};
constexpr StaticOptions kFull{.full_pcpus_only = true};
constexpr StaticOptions kUncore{.prefer_align_by_uncore = true};
constexpr StaticOptions kNuma{.full_pcpus_only = true, .distribute_across_numa = true};

BENCHMARK_CAPTURE(allocate_and_release, none_8, kNone, 8, 3'507'877);
BENCHMARK_CAPTURE(allocate_and_release, none_32, kNone, 32, 4'576'767);
BENCHMARK_CAPTURE(allocate_and_release, full_pcpus_only_8, kFull, 8, 3'931'352);
BENCHMARK_CAPTURE(allocate_and_release, full_pcpus_only_32, kFull, 32, 5'535'818);
BENCHMARK_CAPTURE(allocate_and_release, uncore_8, kUncore, 8, 1'153'732);
BENCHMARK_CAPTURE(allocate_and_release, uncore_32, kUncore, 32, 1'759'206);
BENCHMARK_CAPTURE(allocate_and_release, across_numa_full_pcpus_only_8, kNuma, 8, 2'183'408);
BENCHMARK_CAPTURE(allocate_and_release, across_numa_full_pcpus_only_32, kNuma, 32, 2'921'722);

BENCHMARK_CAPTURE(grow, none_8, kNone, TopologyPolicy::kNone, 8);
BENCHMARK_CAPTURE(grow, none_32, kNone, TopologyPolicy::kNone, 32);
BENCHMARK_CAPTURE(grow, full_pcpus_only_32, kFull, TopologyPolicy::kNone, 32);
BENCHMARK_CAPTURE(grow, full_pcpus_only_restricted_24, kFull, TopologyPolicy::kRestricted, 24);
BENCHMARK_CAPTURE(grow, best_effort_32, kNone, TopologyPolicy::kBestEffort, 32);
BENCHMARK_CAPTURE(grow, single_numa_node_24, kNone, TopologyPolicy::kSingleNumaNode, 24);
BENCHMARK_CAPTURE(grow, uncore_32, kUncore, TopologyPolicy::kNone, 32);
BENCHMARK_CAPTURE(grow, across_numa_full_pcpus_only_140, kNuma, TopologyPolicy::kNone, 140);
BENCHMARK_CAPTURE(shrink, none_32, kNone, TopologyPolicy::kNone, 32);
BENCHMARK_CAPTURE(shrink, full_pcpus_only_restricted_24, kFull, TopologyPolicy::kRestricted, 24);
BENCHMARK_CAPTURE(shrink, across_numa_full_pcpus_only_140, kNuma, TopologyPolicy::kNone, 140);
// One pod has to leave, and as many as eleven.
BENCHMARK_CAPTURE(defer_resize, single_numa_node_32, kNone, TopologyPolicy::kSingleNumaNode, 32);
BENCHMARK_CAPTURE(defer_resize, restricted_32, kNone, TopologyPolicy::kRestricted, 32);
BENCHMARK_CAPTURE(defer_resize, full_pcpus_only_restricted_32, kFull, TopologyPolicy::kRestricted,
                  32);
BENCHMARK_CAPTURE(defer_resize, none_160, kNone, TopologyPolicy::kNone, 160);
BENCHMARK_CAPTURE(defer_resize, none_200, kNone, TopologyPolicy::kNone, 200);
BENCHMARK_CAPTURE(defer_resize, best_effort_160, kNone, TopologyPolicy::kBestEffort, 160);

}  // namespace
}  // namespace corehold
