// SPDX-License-Identifier: Apache-2.0
//
// Admission end to end: hints of CPU, memory and devices, merging, and all three given, on
// 64 NUMA nodes and 4,096 CPUs, where a kubelet never returns. Every third node is half
// taken and every seventh full; 42 pods hold CPUs. Then what one more pod costs on a node that
// holds 10 to 4,000 containers: admission, refusal, resize and release.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "pod/testing.h"
#include "policy/admission.h"
#include "policy/resize/resize.h"
#include "policy/static_policy.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr int kNodes = 64;
constexpr int kCpusPerNode = 64;

Bookings busy_node(const StaticPolicy& policy, const Topology& topology) {
  Bookings bookings;
  bookings.cpus = *policy.start({});
  MemoryInventory memory;
  DeviceInventory devices;
  for (const auto& node : topology.nodes()) {
    memory[node.id] = {{"memory", std::int64_t{256} << 30},
                       {"hugepages-1Gi", std::int64_t{32} << 30}};
    if (node.id.value % 4 == 2) {
      for (const char* port : {"a", "b"}) {
        devices["example.com/nic"].push_back(
            {.id = fmt::format("nic{}{}", node.id.value, port), .nodes = {node.id}});
      }
    }
  }
  bookings.memory = *MemoryBook::make(memory, {});
  bookings.devices = *DeviceBook::make(devices);
  for (const auto& node : topology.nodes()) {
    const int taken = node.id.value % 7 == 3 ? kCpusPerNode : node.id.value % 3 == 1 ? 32 : 0;
    if (taken == 0) continue;
    Request request{.container = {.pod = fmt::format("busy-{}", node.id.value), .container = "c"},
                    .cpus = std::min(taken, (bookings.cpus.shared & node.cpus).size() - 2)};
    request.affinity = NodeSet{node.id};
    apply(bookings.cpus, *policy.allocate(bookings.cpus, request));
  }
  return bookings;
}

struct Setting {
  TopologyPolicy policy = TopologyPolicy::kNone;
  bool distributed = false;
  TopologyScope scope = TopologyScope::kContainer;
  bool closest = false;
};

// `pod`: "48": one node's worth of CPUs and a device near it; "160": three nodes' worth of
// CPUs and memory, and six devices, of which a node has two.
void admit_on_64_nodes(benchmark::State& state, Setting setting, const char* cpus) {
  const Topology topology = machine("8s8n32c2t");
  const auto policy =
      StaticPolicy::make(topology, {.options = {.distribute_across_numa = setting.distributed},
                                    .reserved_count = 2,
                                    .topology_policy = setting.policy});
  Bookings bookings = busy_node(*policy, topology);
  const AdmissionRules rules{.topology = topology,
                             .policy = *policy,
                             .topology_options = {.policy = setting.policy,
                                                  .scope = setting.scope,
                                                  .prefer_closest_numa = setting.closest,
                                                  .max_numa_nodes = kNodes}};
  const bool small = std::string_view(cpus) == "48";
  const Pod pod =
      pod_of("measured", {fmt::format("c cpu={} memory={} hugepages-1Gi=2Gi example.com/nic={}",
                                      cpus, small ? "64Gi" : "600Gi", small ? 1 : 6)});
  const PodBooking before = booking_of(bookings, pod.uid);
  std::string outcome;
  for (auto _ : state) {
    const Decision decision = admit(rules, bookings, pod);
    benchmark::DoNotOptimize(decision.containers.data());
    restore(bookings, pod.uid, before);
    outcome = decision.refusal ? decision.refusal->reason
                               : "on " + topology.nodes_of(decision.containers[0].granted).str();
    const auto& alignment =
        decision.alignment ? decision.alignment : decision.containers[0].alignment;
    if (alignment && !alignment->merged.exact) outcome += ", not exact";
  }
  state.SetLabel(outcome);
}

// A node of 4,096 CPUs with `count` pods of one container each.
class FilledNode {
 public:
  FilledNode(const char* each, std::int64_t count)
      : policy_(StaticPolicy::make(topology_, {.reserved_count = 2})) {
    MemoryInventory memory;
    for (const auto& node : topology_.nodes()) {
      memory[node.id] = {{"memory", std::int64_t{256} << 30}};
    }
    bookings.cpus = *policy_->start({});
    bookings.memory = *MemoryBook::make(memory, {});
    for (std::int64_t i = 0; i < count; ++i) {
      CHECK(!admit(rules(), bookings, pod_of(fmt::format("pod-{:05}", i), {each})).refusal);
    }
  }

  AdmissionRules rules() const { return {.topology = topology_, .policy = *policy_}; }

  Bookings bookings{};

 private:
  const Topology topology_ = machine("2s1n1024c2t");
  Result<StaticPolicy> policy_;
};

constexpr const char* kExclusive = "c cpu=1 memory=64Mi";
constexpr const char* kShared = "c cpu=100m memory=64Mi";

void admit_and_release(benchmark::State& state, const char* each) {
  FilledNode node(each, state.range(0));
  const Pod pod = pod_of("measured", {each});
  for (auto _ : state) {
    benchmark::DoNotOptimize(admit(node.rules(), node.bookings, pod));
    release(node.rules(), node.bookings, pod.uid);
  }
}

void refuse(benchmark::State& state) {
  FilledNode node(kExclusive, state.range(0));
  const Pod pod = pod_of("measured", {"c cpu=5000 memory=64Mi"});
  for (auto _ : state) benchmark::DoNotOptimize(admit(node.rules(), node.bookings, pod));
}

void grow(benchmark::State& state) {
  FilledNode node(kExclusive, state.range(0));
  const Pod now = pod_of("pod-00005", {kExclusive});
  const Pod wanted = pod_of("pod-00005", {"c cpu=4 memory=64Mi"});
  const ResizeGates gates{.in_place = true, .exclusive_cpus = true};
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide_resize(node.rules(), gates, node.bookings, now, wanted));
  }
}

void numbers_of_containers(benchmark::internal::Benchmark* bench) {
  for (const int count : {10, 100, 250, 1000, 4000}) bench->Arg(count);
}

BENCHMARK_CAPTURE(admit_and_release, exclusive, kExclusive)->Apply(numbers_of_containers);
BENCHMARK_CAPTURE(admit_and_release, shared, kShared)->Apply(numbers_of_containers);
BENCHMARK(refuse)->Apply(numbers_of_containers);
BENCHMARK(grow)->Apply(numbers_of_containers);

constexpr auto kNone = TopologyPolicy::kNone;
constexpr auto kBestEffort = TopologyPolicy::kBestEffort;
constexpr auto kRestricted = TopologyPolicy::kRestricted;
constexpr auto kSingle = TopologyPolicy::kSingleNumaNode;
constexpr Setting kClosest{.policy = kBestEffort, .closest = true};
constexpr Setting kPod{.policy = kRestricted, .scope = TopologyScope::kPod};

BENCHMARK_CAPTURE(admit_on_64_nodes, none_packed_48, Setting{kNone}, "48");
BENCHMARK_CAPTURE(admit_on_64_nodes, none_packed_160, Setting{kNone}, "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, none_distributed_160, (Setting{kNone, true}), "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, best_effort_packed_48, Setting{kBestEffort}, "48");
BENCHMARK_CAPTURE(admit_on_64_nodes, best_effort_packed_160, Setting{kBestEffort}, "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, best_effort_distributed_160, (Setting{kBestEffort, true}),
                  "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, best_effort_closest_160, kClosest, "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, restricted_packed_48, Setting{kRestricted}, "48");
BENCHMARK_CAPTURE(admit_on_64_nodes, restricted_packed_160, Setting{kRestricted}, "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, restricted_distributed_160, (Setting{kRestricted, true}),
                  "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, restricted_pod_scope_160, kPod, "160");
BENCHMARK_CAPTURE(admit_on_64_nodes, single_numa_node_packed_48, Setting{kSingle}, "48");
BENCHMARK_CAPTURE(admit_on_64_nodes, single_numa_node_distributed_48, (Setting{kSingle, true}),
                  "48");
BENCHMARK_CAPTURE(admit_on_64_nodes, single_numa_node_packed_160, Setting{kSingle}, "160");

}  // namespace
}  // namespace corehold
