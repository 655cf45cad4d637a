// SPDX-License-Identifier: Apache-2.0
//
// Random machines, inventories, pods and histories of arrivals and departures: the books
// balance after every step, a refusal leaves no trace, what is released is restored, and
// decisions can be taken back.
#include <array>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pod/testing.h"
#include "policy/admission_testing.h"
#include "policy/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
bool flip() { return chance(0, 1) == 1; }
bool rarely() { return chance(0, 4) == 0; }

StaticOptions random_options() {
  StaticOptions options = random_static_options(chance);
  options.align_by_socket = rarely();
  return options;
}

TopologyOptions random_topology_options() {
  constexpr std::array kPolicies{TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                 TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode};
  return {.policy = kPolicies[static_cast<std::size_t>(chance(0, 3))],
          .scope = flip() ? TopologyScope::kPod : TopologyScope::kContainer,
          .prefer_closest_numa = flip(),
          .max_numa_nodes = 64};
}

AdmittingNode random_node() {
  Topology topology = random_machine(chance, 48);
  RC_PRE(topology.cpu_count() > 1);
  NodeSetup setup{.topology = random_topology_options()};
  setup.config.options = random_options();
  setup.config.reserved_count = chance(1, std::max(1, topology.cpu_count() / 4));
  NodeSet nodes;
  for (const auto& node : topology.nodes()) nodes.insert(node.id);
  if (!rarely()) {
    for (const NodeId id : nodes) {
      setup.memory[id]["memory"] = chance(0, 40);
      if (flip()) setup.memory[id]["hugepages-2Mi"] = chance(0, 10);
    }
  }
  for (const char* resource : {"example.com/nic", "example.com/gpu"}) {
    if (rarely()) continue;
    std::vector<Device>& devices = setup.devices[resource];
    const int count = chance(0, 6);
    for (int i = 0; i < count; ++i) {
      Device device{.id = fmt::format("d{}", i)};
      for (const NodeId id : nodes) {
        if (chance(0, nodes.size()) == 0) device.nodes.insert(id);
      }
      devices.push_back(std::move(device));
    }
  }
  auto node = AdmittingNode::make(std::move(topology), std::move(setup));
  RC_PRE(node.has_value());
  return *std::move(node);
}

std::string random_amounts(const AdmittingNode& node) {
  const int most = std::max(2, node.rules().topology.cpu_count() / 2);
  std::string text =
      rarely() ? fmt::format(" cpu={}m", chance(1, 3000)) : fmt::format(" cpu={}", chance(1, most));
  text += fmt::format(" memory={}", chance(1, flip() ? 10 : 60));
  if (rarely()) text += ".." + std::to_string(chance(60, 70));
  if (rarely()) text += fmt::format(" hugepages-2Mi={}", chance(0, 8));
  if (flip()) text += fmt::format(" example.com/nic={}", chance(0, 3));
  if (rarely()) text += fmt::format(" example.com/gpu={}", chance(1, 2));
  return text;
}

Pod random_pod(const AdmittingNode& node) {
  std::vector<std::string> containers;
  for (int i = chance(0, 2); i > 0; --i) {
    containers.push_back(
        fmt::format("{}:i{}{}", flip() ? "init" : "sidecar", i, random_amounts(node)));
  }
  for (int i = chance(1, 2); i > 0; --i) {
    containers.push_back(fmt::format("a{}{}", i, random_amounts(node)));
  }
  return pod_of(fmt::format("p{}", chance(0, 9)), containers);
}

// The pod with another number of CPUs for one of its containers.
Pod resized(Pod pod) {
  Resources& resources = pod.containers.front().resources;
  const Quantity cpus = Quantity::of(chance(1, 10));
  for (ResourceList* list : {&resources.requests, &resources.limits}) {
    list->insert_or_assign(std::string(kCpu), cpus);
  }
  return pod;
}

void check(const AdmittingNode& node) {
  const std::string problem = node.problem();
  if (!problem.empty()) RC_FAIL(problem);
}

void admit_some(AdmittingNode& node) {
  const Pod pod = random_pod(node);
  if (node.pods().contains(pod.uid)) return;
  const Bookings before = node.bookings();
  const Decision decision = node.admit(pod);
  check(node);
  if (!decision.refusal) {
    const std::size_t count = pod.init_containers.size() + pod.containers.size();
    RC_ASSERT(decision.containers.size() == count);
    for (const ContainerDecision& container : decision.containers) {
      RC_ASSERT(container.granted.size() == container.cpus_asked);
    }
    return;
  }
  const std::set<std::string> known{"TopologyAffinityError", "OutOfcpu", "SMTAlignmentError",
                                    "UnexpectedAdmissionError"};
  RC_ASSERT(known.contains(decision.refusal->reason));
  RC_ASSERT(!decision.refusal->message.empty());
  RC_ASSERT(node.bookings() == before);
}

void step(AdmittingNode& node) {
  if (chance(0, 2) != 0) return admit_some(node);
  node.release(fmt::format("p{}", chance(0, 9)));
  check(node);
}

RC_GTEST_PROP(AdmissionProperty, TheBooksBalanceAfterEveryStep, ()) {
  AdmittingNode node = random_node();
  const Bookings before = node.bookings();
  const int steps = chance(1, 25);
  for (int i = 0; i < steps; ++i) step(node);
  for (int i = 0; i <= 9; ++i) node.release(fmt::format("p{}", i));
  check(node);
  RC_ASSERT(node.bookings() == before);
}

RC_GTEST_PROP(AdmissionProperty, SameBookingsAndPodSameAnswer, ()) {
  AdmittingNode node = random_node();
  const int steps = chance(0, 6);
  for (int i = 0; i < steps; ++i) step(node);
  const Pod pod = random_pod(node);
  Bookings after_once = node.bookings();
  Bookings after_again = node.bookings();
  const Decision once = admit(node.rules(), after_once, pod);
  const Decision again = admit(node.rules(), after_again, pod);
  RC_ASSERT(text_of(once) == text_of(again));
  RC_ASSERT(after_once == after_again);
}

RC_GTEST_PROP(AdmissionProperty, APodThatIsInIsAdmittedAgainAndKeepsEverything, ()) {
  AdmittingNode node = random_node();
  const int steps = chance(1, 8);
  for (int i = 0; i < steps; ++i) step(node);
  const Bookings before = node.bookings();
  const auto pods = node.pods();
  for (const auto& [uid, pod] : pods) {
    const Decision decision = node.admit(pod);
    RC_LOG() << text_of(decision);
    RC_ASSERT(!decision.refusal);
    RC_ASSERT(node.bookings() == before);
  }
}

// On one NUMA node everything a container gets is on that node.
RC_GTEST_PROP(AdmissionProperty, SingleNumaNodeIsKeptTo, ()) {
  AdmittingNode node = random_node();
  RC_PRE(node.rules().topology_options.policy == TopologyPolicy::kSingleNumaNode);
  const int steps = chance(1, 8);
  for (int i = 0; i < steps; ++i) {
    const Pod pod = random_pod(node);
    if (node.pods().contains(pod.uid)) continue;
    const Decision decision = node.admit(pod);
    if (decision.refusal) continue;
    for (const ContainerDecision& container : decision.containers) {
      if (!container.affinity) continue;
      RC_ASSERT(container.affinity->size() == 1);
      RC_ASSERT(
          node.rules().topology.nodes_of(container.granted).is_subset_of(*container.affinity));
      RC_ASSERT(container.memory_nodes.is_subset_of(*container.affinity));
    }
  }
}

// Bookings that change by decisions of every kind, with what each of them takes to be undone.
class UndoableHistory {
 public:
  explicit UndoableHistory(const AdmittingNode& node)
      : node_(node), bookings_(node.bookings()), pods_(node.pods()) {}

  void step() {
    const Pod pod = random_pod(node_);
    const auto known = pods_.find(pod.uid);
    undo_.push_back({pod.uid, booking_of(bookings_, pod.uid), bookings_});
    if (known == pods_.end()) {
      if (!admit(node_.rules(), bookings_, pod).refusal) pods_.emplace(pod.uid, pod);
    } else if (flip()) {
      resize(known->second);
    } else if (flip()) {
      admit(node_.rules(), bookings_, flip() ? pod : known->second);
    } else if (flip()) {
      end_container(known->second);
    } else {
      release(node_.rules(), bookings_, pod.uid);
      pods_.erase(known);
    }
  }

  void take_back_all() {
    for (; !undo_.empty(); undo_.pop_back()) {
      restore(bookings_, undo_.back().uid, undo_.back().booking);
      RC_ASSERT(bookings_ == undo_.back().before);
    }
  }

 private:
  struct Undo {
    std::string uid;
    PodBooking booking;
    Bookings before;
  };

  void resize(Pod& pod) {
    const Pod wanted = resized(pod);
    const auto decision = decide_resize(node_.rules(), node_.gates, bookings_, pod, wanted);
    RC_ASSERT(bookings_ == undo_.back().before);
    if (decision.refusal) return;
    apply(bookings_.cpus, begin_resize(bookings_.cpus, pod.uid, decision));
    pod = wanted;
    for (const ContainerResize& container : decision.containers) {
      if (container.grows() || flip()) continue;
      apply(bookings_.cpus, finish_shrink(bookings_.cpus, pod.uid, container.container, decision));
    }
  }

  void end_container(const Pod& pod) {
    const Container& ended =
        pod.init_containers.empty() ? pod.containers.front() : pod.init_containers.front();
    apply(bookings_.cpus, node_.rules().policy.release(bookings_.cpus, {pod.uid, ended.name}));
  }

  const AdmittingNode& node_;
  Bookings bookings_;
  std::map<std::string, Pod> pods_;  // by UID
  std::vector<Undo> undo_{};
};

RC_GTEST_PROP(BookingsProperty, DecisionsAreTakenBackExactlyInReverseOrder, ()) {
  AdmittingNode node = random_node();
  const int before = chance(0, 6);
  for (int i = 0; i < before; ++i) step(node);
  UndoableHistory history(node);
  const int steps = chance(1, 20);
  for (int i = 0; i < steps; ++i) history.step();
  history.take_back_all();
}

CpuSet random_cpus(const AdmittingNode& node) {
  CpuSet cpus;
  for (const CpuId cpu : node.rules().topology.cpus()) {
    if (rarely()) cpus.insert(cpu);
  }
  return cpus;
}

RC_GTEST_PROP(AdmissionProperty, UnavailableCpusAreNotGivenAndStayWhereTheyAreBooked, ()) {
  AdmittingNode node = random_node();
  const int steps = chance(0, 8);
  for (int i = 0; i < steps; ++i) step(node);
  AdmissionRules rules = node.rules();
  rules.unavailable = random_cpus(node);
  Bookings bookings = node.bookings();
  Bookings without = node.bookings();
  without.cpus.shared -= rules.unavailable;
  const Pod pod = random_pod(node);
  const Decision decision = admit(rules, bookings, pod);
  RC_ASSERT(text_of(decision) == text_of(admit(node.rules(), without, pod)));
  without.cpus.shared |= node.bookings().cpus.shared & rules.unavailable;
  RC_ASSERT(bookings == without);
}

RC_GTEST_PROP(ResizeProperty, UnavailableCpusAreNotGiven, ()) {
  AdmittingNode node = random_node();
  const int steps = chance(1, 8);
  for (int i = 0; i < steps; ++i) step(node);
  RC_PRE(!node.pods().empty());
  AdmissionRules rules = node.rules();
  rules.unavailable = random_cpus(node);
  Bookings without = node.bookings();
  without.cpus.shared -= rules.unavailable;
  for (const auto& [uid, pod] : node.pods()) {
    const Pod wanted = resized(pod);
    RC_ASSERT(decide_resize(rules, node.gates, node.bookings(), pod, wanted) ==
              decide_resize(node.rules(), node.gates, without, pod, wanted));
  }
}

}  // namespace
}  // namespace corehold
