// SPDX-License-Identifier: Apache-2.0
//
// The static policy on the scenario the kubelet's own code was measured on: 256
// CPUs, caches of 8 cores, 2 reserved, 25 pods with 4 CPUs each; one operation is
// the QoS of a pod, its allocation, and its release. And admission end to end, with
// hints, merging, memory and devices, on the largest machine, which a kubelet never
// finishes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "policy/admission.h"
#include "policy/request.h"
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

// 64 NUMA nodes of 64 CPUs, 16 GiB and two NICs each, every second pod of 200 gone again.
struct LargeNode {
  Topology topology = machine("8s8n32c2t");
  std::optional<StaticPolicy> policy{};
  TopologyOptions options{};
  Bookings bookings{};

  LargeNode(StaticOptions static_options, TopologyPolicy topology_policy) {
    policy = *StaticPolicy::make(topology, {.options = static_options, .reserved_count = 2});
    options = {.policy = topology_policy, .max_numa_nodes = 64};
    MemoryInventory memory;
    DeviceInventory devices;
    for (const auto& node : topology.nodes()) {
      memory[node.id]["memory"] = std::int64_t{16} << 30;
      for (const char* kind : {"a", "b"}) {
        devices["example.com/nic"].push_back(
            {.id = fmt::format("{}{}", kind, node.id.value), .nodes = {node.id}});
      }
    }
    bookings = {.cpus = *policy->start({}),
                .memory = *MemoryBook::make(memory, {}),
                .devices = *DeviceBook::make(devices)};
    for (int i = 0; i < 200; ++i) admit_pod(pod_for(i));
    for (int i = 0; i < 200; i += 2) leave(fmt::format("pod-{}", i));
  }

  static Pod pod_for(int i) {
    Pod pod = guaranteed_pod(fmt::format("pod-{}", i), 4 + 2 * (i % 7));
    for (ResourceList* list :
         {&pod.containers.front().resources.requests, &pod.containers.front().resources.limits}) {
      (*list)["example.com/nic"] = Quantity::of(i % 3 == 0 ? 1 : 0);
    }
    return pod;
  }
  AdmissionRules rules() const {
    return {.topology = topology, .policy = *policy, .topology_options = options};
  }
  bool admit_pod(const Pod& pod) {
    Decision decision = admit(rules(), bookings, pod);
    bookings = std::move(decision.after);
    return !decision.refusal;
  }
  void leave(const std::string& uid) { bookings = release(rules(), std::move(bookings), uid); }
};

// `cpus` CPUs with memory and NICs: what one NUMA node has, or for more than 64 CPUs what none
// has alone.
void admit_and_release(benchmark::State& state, StaticOptions options, TopologyPolicy policy,
                       int cpus) {
  LargeNode node(options, policy);
  Pod pod = guaranteed_pod("measured", cpus);
  for (ResourceList* list :
       {&pod.containers.front().resources.requests, &pod.containers.front().resources.limits}) {
    (*list)["memory"] = *Quantity::parse(cpus > 64 ? "20Gi" : "1Gi");
    (*list)["example.com/nic"] = Quantity::of(cpus > 64 ? 3 : 1);
  }
  bool admitted = false;
  for (auto _ : state) {
    admitted = node.admit_pod(pod);
    node.leave("measured");
  }
  state.SetLabel(admitted ? "admitted" : "refused");
}

constexpr StaticOptions kSpread{.distribute_across_numa = true};

#define ADMIT(name, policy)                                                                    \
  BENCHMARK_CAPTURE(admit_and_release, name##_packed_8, kNone, TopologyPolicy::policy, 8);     \
  BENCHMARK_CAPTURE(admit_and_release, name##_packed_100, kNone, TopologyPolicy::policy, 100); \
  BENCHMARK_CAPTURE(admit_and_release, name##_spread_8, kSpread, TopologyPolicy::policy, 8);   \
  BENCHMARK_CAPTURE(admit_and_release, name##_spread_100, kSpread, TopologyPolicy::policy, 100)
ADMIT(none, kNone);
ADMIT(best_effort, kBestEffort);
ADMIT(restricted, kRestricted);
ADMIT(single_numa_node, kSingleNumaNode);
#undef ADMIT

}  // namespace
}  // namespace corehold
