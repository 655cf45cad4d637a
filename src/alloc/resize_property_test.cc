// SPDX-License-Identifier: Apache-2.0
//
// Growing and shrinking on small random machines, held against every set that would have
// been possible: the answer has as few NUMA nodes (or sockets) as any, and by the options
// is as near, as even and on as few cores.
#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "alloc/resize.h"
#include "topology/testing.h"

namespace corehold {
namespace {

struct Case {
  Topology topology;
  CpuSet base{};  // must be in the answer
  CpuSet pool{};  // may be
  int count = 0;
  ResizeOptions options{};

  std::string str() const {
    std::string text = fmt::format(
        "base {} pool {} count {} spread {} uncore {} numa {} group {} socket {} whole {}\n",
        base.str(), pool.str(), count, options.take.order == CpuOrder::kSpread,
        options.take.prefer_uncore, options.take.across_numa, options.take.group_size,
        options.take.align_by_socket, options.whole_cores);
    for (const Core& core : topology.cores()) {
      text +=
          fmt::format("core of {} size {} node {} socket {} uncore {}\n", core.cpus.front().value,
                      core.size(), core.node, core.socket, core.uncore);
    }
    return text;
  }
};

Case random_case(const Chance& chance) {
  Topology topology = random_machine(chance, 12);
  if (chance(0, 1) == 0) topology = with_random_distances(chance, topology);
  Case test{.topology = std::move(topology)};
  test.options.take.order = chance(0, 3) == 0 ? CpuOrder::kSpread : CpuOrder::kPacked;
  test.options.take.prefer_uncore = chance(0, 2) == 0;
  test.options.take.across_numa = chance(0, 2) == 0;
  test.options.take.align_by_socket = chance(0, 2) == 0;
  test.options.whole_cores = test.options.take.order == CpuOrder::kPacked && chance(0, 2) == 0;
  if (test.options.whole_cores) test.options.take.group_size = test.topology.threads_per_core();
  const CpuSet all = random_subset(chance, test.topology, test.topology.cpus());
  test.base = random_subset(chance, test.topology, all);
  if (test.options.whole_cores) test.base = test.topology.whole_cores_within(test.base);
  test.pool = all - test.base;
  test.count = test.base.size() + chance(0, std::max(0, test.pool.size()) + 1);
  return test;
}

// Everything by which sets of CPUs are compared.
struct Look {
  NodeSet nodes{};
  int sockets = 0;
  int cores = 0;
  std::int64_t distance = 0;
  std::int64_t squares = 0;  // of the CPUs on each node
};

Look look_at(const Topology& topology, const CpuSet& cpus) {
  Look look{.nodes = topology.nodes_of(cpus)};
  for (const auto& socket : topology.sockets())
    look.sockets += socket.cpus.intersects(cpus) ? 1 : 0;
  for (const Core& core : topology.cores()) {
    const auto is_in = [&](CpuId cpu) { return cpus.contains(cpu); };
    look.cores += std::any_of(core.cpus.begin(), core.cpus.end(), is_in) ? 1 : 0;
  }
  for (const auto& node : topology.nodes()) {
    const std::int64_t inside = node.cpus.count_common(cpus);
    look.squares += inside * inside;
  }
  for (const NodeId from : look.nodes) {
    for (const NodeId to : look.nodes) look.distance += topology.distance(from, to);
  }
  return look;
}

// Every set that the case allows.
std::vector<CpuSet> possible(const Case& test) {
  std::vector<CpuId> open(test.pool.begin(), test.pool.end());
  std::vector<CpuSet> sets;
  const int wanted = test.count - test.base.size();
  for (std::uint32_t mask = 0; mask < (1U << open.size()); ++mask) {
    if (std::popcount(mask) != wanted) continue;
    CpuSet cpus = test.base;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if ((mask >> i & 1U) != 0) cpus.insert(open[i]);
    }
    if (test.options.whole_cores && test.topology.whole_cores_within(cpus) != cpus) continue;
    sets.push_back(cpus);
  }
  return sets;
}

std::pair<int, int> narrowness(const Case& test, const Look& look) {
  const bool by_socket = test.options.take.align_by_socket &&
                         test.topology.sockets().size() <= test.topology.nodes().size();
  return {by_socket ? look.sockets : 0, look.nodes.size()};
}

void check_best(const Case& test, const CpuSet& answer) {
  const Look own = look_at(test.topology, answer);
  const auto& take = test.options.take;
  const bool adds_up = test.options.whole_cores && !test.topology.cores_are_alike();
  const bool evenly =
      take.across_numa && !adds_up && (test.count - test.base.size()) % take.group_size == 0;
  const bool packed = take.order == CpuOrder::kPacked && !take.prefer_uncore && !take.across_numa &&
                      test.topology.cores_are_alike() && test.topology.threads_per_core() <= 2;
  for (const CpuSet& other : possible(test)) {
    const Look look = look_at(test.topology, other);
    ASSERT_LE(narrowness(test, own), narrowness(test, look)) << other.str();
    if (narrowness(test, look) == narrowness(test, own) && !evenly) {
      ASSERT_LE(own.distance, look.distance) << other.str();
    }
    if (look.nodes == own.nodes && evenly) {
      ASSERT_LE(own.squares, look.squares) << other.str();
    }
    if (packed && look.nodes == own.nodes && own.nodes == test.topology.nodes_of(test.base)) {
      ASSERT_LE(own.cores, look.cores) << other.str();
    }
  }
}

TEST(ResizeProperty, GrowthIsTheBestOfAllThatContainWhatIsAssigned) {
  const Chance chance = seeded_chance(1);
  int answers = 0;
  for (int i = 0; i < 4000; ++i) {
    const Case test = random_case(chance);
    SCOPED_TRACE(test.str());
    const auto grown =
        grow_by_topology(test.topology, test.base, test.pool, test.count, test.options);
    ASSERT_EQ(grown.has_value(), !possible(test).empty());
    if (!grown) continue;
    ++answers;
    ASSERT_EQ(grown->size(), test.count);
    ASSERT_TRUE(test.base.is_subset_of(*grown));
    ASSERT_TRUE(grown->is_subset_of(test.base | test.pool));
    ASSERT_NO_FATAL_FAILURE(check_best(test, *grown));
  }
  EXPECT_GT(answers, 2000);
}

TEST(ResizeProperty, WhatIsLeftIsTheBestOfAllThatContainWhatIsPromised) {
  const Chance chance = seeded_chance(2);
  int answers = 0;
  for (int i = 0; i < 8000; ++i) {
    const Case test = random_case(chance);
    if (test.count > test.base.size() + test.pool.size()) continue;
    SCOPED_TRACE(test.str());
    const CpuSet assigned = test.base | test.pool;
    const auto kept =
        shrink_by_topology(test.topology, assigned, test.base, test.count, test.options);
    if (test.count == assigned.size()) {
      ASSERT_TRUE(kept && *kept == assigned);
      continue;
    }
    ASSERT_EQ(kept.has_value(), !possible(test).empty());
    if (!kept) continue;
    ++answers;
    ASSERT_EQ(kept->size(), test.count);
    ASSERT_TRUE(test.base.is_subset_of(*kept));
    ASSERT_TRUE(kept->is_subset_of(assigned));
    ASSERT_NO_FATAL_FAILURE(check_best(test, *kept));
  }
  EXPECT_GT(answers, 2000);
}

}  // namespace
}  // namespace corehold
