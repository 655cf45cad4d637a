// SPDX-License-Identifier: Apache-2.0
//
// Decisions on random machines, each of the 40 combinations of policy options, every
// topology policy and scope, random histories of pods that come, go and are resized, with
// shrinks that finish late, never, or are overtaken by the next resize.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "alloc/resize_testing.h"
#include "policy/admission_testing.h"
#include "policy/resize/resize_placement.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr int kPods = 3;
// For each of the four topology policies. resize_proof has its own number.
#ifdef COREHOLD_RESIZES
constexpr int kResizes = COREHOLD_RESIZES;
#else
constexpr int kResizes = 25'000;
#endif
constexpr int kStepsOfANode = 200;
constexpr int kRarely = 8;  // one in so many is asked again in other ways

constexpr std::array kTopologyPolicies{TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                       TopologyPolicy::kRestricted,
                                       TopologyPolicy::kSingleNumaNode};

// All that do not exclude each other.
std::vector<StaticOptions> every_combination() {
  std::vector<StaticOptions> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto is_on = [bits](unsigned bit) { return (bits >> bit & 1U) != 0; };
    const StaticOptions options{.full_pcpus_only = is_on(0),
                                .strict_cpu_reservation = is_on(1),
                                .prefer_align_by_uncore = is_on(2),
                                .distribute_across_numa = is_on(3),
                                .distribute_across_cores = is_on(4),
                                .align_by_socket = is_on(5)};
    const bool excluded = options.distribute_across_cores &&
                          (options.full_pcpus_only || options.distribute_across_numa);
    if (!excluded) all.push_back(options);
  }
  return all;
}

// What has been seen, so that no kind of answer goes untested.
struct Seen {
  int resizes = 0;
  int grown = 0;
  int shrunk = 0;
  int waiting = 0;
  int extended = 0;
  int deferred = 0;
  int infeasible = 0;
  int unchanged = 0;
  // By numbers alone.
  int never = 0;
  int open = 0;
  int sure = 0;
};

Container container_of(int index, int count) {
  Container container{.name = fmt::format("c{}", index)};
  for (ResourceList* list : {&container.resources.requests, &container.resources.limits}) {
    (*list)["cpu"] = Quantity::of(count);
    (*list)["memory"] = Quantity::of(1);
  }
  return container;
}

class History {
 public:
  History(AdmittingNode node, Chance chance, Seen& seen)
      : node_(std::move(node)),
        topology_(node_.rules().topology),
        terms_(*node_.rules().policy.resize_terms()),
        widths_(topology_, terms_.options),
        chance_(std::move(chance)),
        seen_(seen) {}

  void step() {
    const std::string uid = fmt::format("p{}", chance_(0, kPods - 1));
    if (!node_.pods().contains(uid)) return chance_(0, 3) == 0 ? admit(uid) : void();
    switch (chance_(0, 19)) {
      case 0:
        waits_.erase(uid);
        node_.release(uid);
        return check_state();
      case 1:
      case 2:
      case 3:
        return finish(uid);
      default:
        return resize(uid);
    }
  }

 private:
  void check_state() const { ASSERT_EQ(node_.problem(), ""); }

  void admit(const std::string& uid) {
    Pod pod{.name = uid, .uid = uid};
    const int most = std::max(1, topology_.cpu_count() / 8);
    for (int i = chance_(1, 3); i > 0; --i) {
      pod.containers.push_back(container_of(i, chance_(1, most)));
    }
    node_.admit(pod);
    check_state();
  }

  // One shrink of the pod's last resize is confirmed.
  void finish(const std::string& uid) {
    const auto waits = waits_.find(uid);
    if (waits == waits_.end()) return;
    for (const ContainerResize& each : waits->second.containers) {
      const Holding* holding = node_.bookings().cpus.find({uid, each.container});
      if (each.grows() || !holding->pending) continue;
      node_.finish_shrink(uid, each.container, waits->second);
      check_state();
      return check_restart(uid);
    }
    // All have shrunk, so every container has what it was to have.
    for (const ContainerResize& each : waits->second.containers) {
      ASSERT_EQ(node_.bookings().cpus.find({uid, each.container})->assigned, each.after);
    }
    waits_.erase(waits);
  }

  // Mostly a few more than it has or fewer, seldom anything, once in a while too few.
  int random_count(int has, int promised) const {
    if (chance_(0, 4) == 0) return has;
    if (chance_(0, 15) == 0) return std::max(1, promised - 1);
    if (chance_(0, 9) == 0) return chance_(promised, topology_.cpu_count());
    const int threads = terms_.options.whole_cores ? topology_.threads_per_core() : 1;
    return std::max(promised, has + threads * (has > promised ? chance_(-2, 2) : chance_(1, 2)));
  }

  void resize(const std::string& uid) {
    Pod wanted = node_.pods().at(uid);
    for (Container& container : wanted.containers) {
      const Holding* holding = node_.bookings().cpus.find({uid, container.name});
      const int count = random_count(holding->assigned.size(), holding->promised.size());
      container.resources.requests["cpu"] = Quantity::of(count);
      container.resources.limits["cpu"] = Quantity::of(count);
    }
    const Bookings before = node_.bookings();
    const Pod now = node_.pods().at(uid);
    const ResizeDecision decision = node_.begin_resize(wanted);
    ++seen_.resizes;
    check_outlook(decision, before, wanted);
    if (decision.refusal) {
      ASSERT_EQ(node_.bookings(), before);
      return check_refusal(decision, before, now, wanted);
    }
    waits_[uid] = decision;
    if (decision.containers.empty()) ++seen_.unchanged;
    check_state();
    if (seen_.resizes % kRarely == 0) check_others(decision, before, now, wanted);
    if (seen_.resizes % kRarely == 1) check_restart(uid);
    for (const ContainerResize& each : decision.containers) {
      const Holding& held = *before.cpus.find({uid, each.container});
      ASSERT_EQ(each.before, held.assigned);
      ASSERT_EQ(each.after.size(), wanted.find(each.container)->request("cpu").value());
      ASSERT_TRUE(held.promised.is_subset_of(each.after));
      if (terms_.options.whole_cores) {
        ASSERT_EQ(topology_.whole_cores_within(each.after), each.after);
      }
      each.grows() ? check_grown(each, decision, before) : check_shrunk(each, held, uid);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  // What numbers alone say is so.
  void check_outlook(const ResizeDecision& decision, const Bookings& before, const Pod& wanted) {
    const AdmissionRules rules = node_.rules();
    const ResizePlacement placement(rules, terms_, before, wanted);
    const auto limits = placement.limits();
    const Outlook now = placement.outlook(limits, before.cpus.shared);
    if (decision.refusal && !decision.refusal->error.empty()) return;  // it was not placed
    ++(now == Outlook::kNever ? seen_.never : seen_.open);
    if (now == Outlook::kSure) ++seen_.sure;
    ASSERT_NE(now, decision.refusal ? Outlook::kSure : Outlook::kNever);
    CpuSet idle = before.cpus.shared;
    for (const auto& [uid, containers] : before.cpus.pods) {
      if (uid == wanted.uid) continue;
      for (const auto& [name, holding] : containers) idle |= holding.assigned;
    }
    ASSERT_NE(placement.outlook(limits, idle),
              decision.verdict == ResizeVerdict::kInfeasible ? Outlook::kSure : Outlook::kNever);
  }

  Bookings without_others(Bookings bookings, const std::string& uid) const {
    for (const auto& [other, pod] : node_.pods()) {
      if (other != uid) release(node_.rules(), bookings, other);
    }
    return bookings;
  }

  // What shrinks does not depend on what other pods hold.
  void check_others(const ResizeDecision& decision, const Bookings& before, const Pod& now,
                    const Pod& wanted) const {
    const ResizeDecision alone =
        decide_resize(node_.rules(), node_.gates, without_others(before, wanted.uid), now, wanted);
    ASSERT_FALSE(alone.refusal) << alone.refusal->message;
    check_same_shrinks(decision, alone);
  }

  // In the middle of a resize, with nothing known but the bookings and what is wanted, the
  // decision is made again: it is accepted, and what shrinks is the same.
  void check_restart(const std::string& uid) const {
    const Pod& wanted = node_.pods().at(uid);
    const ResizeDecision again =
        decide_resize(node_.rules(), node_.gates, node_.bookings(), wanted, wanted);
    ASSERT_FALSE(again.refusal) << again.refusal->message;
    for (const ContainerResize& each : again.containers) {
      const Holding& holding = *node_.bookings().cpus.find({uid, each.container});
      if (!each.grows()) {
        ASSERT_EQ(holding.pending, each.after);
      }
    }
    for (const auto& [name, holding] : node_.bookings().cpus.pods.at(uid)) {
      const auto found = std::find_if(
          again.containers.begin(), again.containers.end(),
          [&, &container = name](const auto& each) { return each.container == container; });
      if (holding.pending) {
        ASSERT_TRUE(found != again.containers.end() && !found->grows());
      }
    }
  }

  static void check_same_shrinks(const ResizeDecision& one, const ResizeDecision& two) {
    ASSERT_EQ(one.containers.size(), two.containers.size());
    for (std::size_t i = 0; i < one.containers.size(); ++i) {
      ASSERT_EQ(one.containers[i].container, two.containers[i].container);
      if (!one.containers[i].grows()) {
        ASSERT_EQ(one.containers[i], two.containers[i]);
      }
    }
  }

  void check_refusal(const ResizeDecision& decision, const Bookings& before, const Pod& now,
                     const Pod& wanted) {
    const auto verdict_on = [&](const Bookings& bookings) {
      return decide_resize(node_.rules(), node_.gates, bookings, now, wanted).verdict;
    };
    if (decision.verdict == ResizeVerdict::kInfeasible) {
      if (++seen_.infeasible % kRarely != 0) return;
      ASSERT_EQ(verdict_on(without_others(before, wanted.uid)), ResizeVerdict::kInfeasible);
      return;
    }
    const std::vector<std::string>& pods = decision.refusal->held_by;
    ASSERT_FALSE(pods.empty());
    if (++seen_.deferred % kRarely != 0) return;
    // Without them it is accepted, and with any one of them back it is not.
    for (std::size_t back = 0; back <= pods.size(); ++back) {
      Bookings without = before;
      for (std::size_t i = 0; i < pods.size(); ++i) {
        ASSERT_NE(pods[i], wanted.uid);
        if (i != back) release(node_.rules(), without, pods[i]);
      }
      ASSERT_EQ(verdict_on(without),
                back == pods.size() ? ResizeVerdict::kAccepted : ResizeVerdict::kDeferred);
    }
  }

  // A function of A, P, n, machine and options: not of others, nor of how A came about.
  void check_shrunk(const ContainerResize& each, const Holding& held, const std::string& uid) {
    ++seen_.shrunk;
    ASSERT_TRUE(each.after.is_subset_of(each.before));
    ASSERT_EQ(node_.bookings().cpus.find({uid, each.container})->pending, each.after);
    const auto again = shrink_by_topology(topology_, held.assigned, held.promised,
                                          each.after.size(), terms_.options);
    ASSERT_TRUE(again && *again == each.after);
    if (widths_.depends_on_cores()) return;
    ASSERT_EQ(widths_.of(topology_.nodes_of(each.after)),
              widths_.least(held.promised, held.assigned - held.promised, each.after.size()));
  }

  void check_grown(const ContainerResize& each, const ResizeDecision& decision,
                   const Bookings& before) {
    ++seen_.grown;
    ASSERT_TRUE(each.before.is_subset_of(each.after));
    CpuSet sources = each.from_shared;
    ASSERT_TRUE(each.from_shared.is_subset_of(before.cpus.shared - terms_.reserved));
    for (const auto& [name, part] : each.from) {
      const auto shrink = std::find_if(
          decision.containers.begin(), decision.containers.end(),
          [&, &from = name](const ContainerResize& other) { return other.container == from; });
      ASSERT_TRUE(shrink != decision.containers.end() && !shrink->grows());
      ASSERT_TRUE(part.is_subset_of(shrink->before - shrink->after));
      ASSERT_FALSE(sources.intersects(part));
      sources |= part;
    }
    ASSERT_EQ(each.before | sources, each.after);
    if (!each.from.empty()) ++seen_.waiting;
    const NodeSet nodes = topology_.nodes_of(each.after);
    if (nodes != topology_.nodes_of(each.before)) ++seen_.extended;
    check_nodes(each, decision, before, nodes);
  }

  void check_nodes(const ContainerResize& each, const ResizeDecision& decision,
                   const Bookings& before, const NodeSet& nodes) const {
    const TopologyOptions& topology = node_.rules().topology_options;
    if (topology.policy == TopologyPolicy::kSingleNumaNode) {
      ASSERT_EQ(nodes.size(), 1);
    }
    if (topology.policy == TopologyPolicy::kRestricted &&
        topology.scope == TopologyScope::kContainer && !terms_.options.take.align_by_socket) {
      ASSERT_LE(nodes.size(), widths_.nodes_when_idle(each.after.size()));
    }
    // With others of its pod it shares what is free, so only alone is this exact. Under a
    // strict policy the topology manager's nodes go before few sockets, and before those
    // that one container of a pod would be best on.
    const bool is_strict = topology.policy == TopologyPolicy::kRestricted ||
                           topology.policy == TopologyPolicy::kSingleNumaNode;
    const bool is_bound =
        is_strict && (terms_.options.take.align_by_socket || topology.scope == TopologyScope::kPod);
    if (decision.containers.size() > 1 || widths_.depends_on_cores() || is_bound) return;
    const CpuSet free = before.cpus.shared - terms_.reserved;
    const CpuSet usable = terms_.options.whole_cores ? topology_.whole_cores_within(free) : free;
    ASSERT_EQ(widths_.of(nodes), widths_.least(each.before, usable, each.after.size()));
  }

  AdmittingNode node_;
  const Topology& topology_;
  const ResizeTerms terms_;
  const Widths widths_;
  Chance chance_;
  Seen& seen_;
  std::map<std::string, ResizeDecision> waits_{};  // the last resize of each pod
};

// No value: the options do not suit the machine.
std::optional<AdmittingNode> random_node(const Chance& chance, const StaticOptions& options,
                                         const TopologyOptions& alignment) {
  Topology topology = random_machine(chance, 20);
  if (topology.cpu_count() < 4) return std::nullopt;
  if (chance(0, 1) == 0) topology = with_random_distances(chance, topology);
  NodeSetup setup{.topology = alignment};
  setup.config.options = options;
  setup.config.options.min_shared_cpus = chance(0, 2);
  setup.config.reserved_count = chance(1, 2);
  auto node = AdmittingNode::make(std::move(topology), std::move(setup));
  if (!node) return std::nullopt;
  return *std::move(node);
}

class ResizeHistories : public testing::TestWithParam<TopologyPolicy> {};
INSTANTIATE_TEST_SUITE_P(Policies, ResizeHistories, testing::ValuesIn(kTopologyPolicies),
                         [](const auto& each) { return fmt::format("policy{}", each.index); });

TEST_P(ResizeHistories, KeepEveryPromise) {
  const std::vector<StaticOptions> combinations = every_combination();
  ASSERT_EQ(combinations.size(), 40U);
  std::vector<Seen> seen(combinations.size());
  int resizes = 0;
  for (int seed = 0; resizes < kResizes; ++seed) {
    const std::size_t which = static_cast<std::size_t>(seed) % combinations.size();
    const Chance chance = seeded_chance(static_cast<std::uint64_t>(seed));
    const auto scope = seed / 40 % 2 == 0 ? TopologyScope::kContainer : TopologyScope::kPod;
    auto node = random_node(chance, combinations[which],
                            {.policy = GetParam(), .scope = scope, .max_numa_nodes = 64});
    if (!node) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int before = seen[which].resizes;
    History history(*std::move(node), chance, seen[which]);
    for (int i = 0; i < kStepsOfANode; ++i) {
      ASSERT_NO_FATAL_FAILURE(history.step()) << "step " << i;
    }
    resizes += seen[which].resizes - before;
  }
  EXPECT_GE(resizes, kResizes);
  Seen all;
  const bool is_single = GetParam() == TopologyPolicy::kSingleNumaNode;
  const bool is_strict = is_single || GetParam() == TopologyPolicy::kRestricted;
  for (std::size_t which = 0; which < combinations.size(); ++which) {
    if (is_single && combinations[which].align_by_socket) continue;  // exclude each other
    const Seen& each = seen[which];
    EXPECT_GT(each.grown, 0);
    EXPECT_GT(each.shrunk, 0);
    EXPECT_GT(each.waiting, 0);
    EXPECT_EQ(each.extended > 0, !is_single);
    EXPECT_GT(each.deferred, 0);
    EXPECT_GT(each.infeasible, 0);
    EXPECT_GT(each.never, 0);
    EXPECT_GT(each.open, each.sure);
    EXPECT_EQ(each.sure > 0, !is_strict || !combinations[which].align_by_socket);
    for (int Seen::*field :
         {&Seen::resizes, &Seen::grown, &Seen::shrunk, &Seen::waiting, &Seen::extended,
          &Seen::deferred, &Seen::infeasible, &Seen::unchanged, &Seen::never, &Seen::sure}) {
      all.*field += each.*field;
    }
  }
  std::printf(
      "%d resizes: %d containers grew (%d to further NUMA nodes, %d after a shrink of "
      "their pod), %d shrank; %d deferred, %d infeasible, %d without change; numbers alone "
      "refused %d and granted %d\n",
      all.resizes, all.grown, all.extended, all.waiting, all.shrunk, all.deferred, all.infeasible,
      all.unchanged, all.never, all.sure);
}

}  // namespace
}  // namespace corehold
