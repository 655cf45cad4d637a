// SPDX-License-Identifier: Apache-2.0
//
// A million growths and shrinks in random histories: three containers that grow, shrink,
// leave and come again on random machines, under each of the 40 combinations of policy
// options.
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "alloc/resize.h"
#include "alloc/resize_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr int kResizes = 1'000'000;
constexpr int kResizesOfAMachine = 500;
constexpr int kContainers = 3;

struct Combination {
  bool full_pcpus_only = false;
  bool strict_reservation = false;
  TakeOptions take{};
};

// All that do not exclude each other.
std::vector<Combination> every_combination() {
  std::vector<Combination> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto is_on = [bits](unsigned bit) { return (bits >> bit & 1U) != 0; };
    const Combination each{.full_pcpus_only = is_on(0),
                           .strict_reservation = is_on(1),
                           .take = {.order = is_on(4) ? CpuOrder::kSpread : CpuOrder::kPacked,
                                    .prefer_uncore = is_on(2),
                                    .across_numa = is_on(3),
                                    .align_by_socket = is_on(5)}};
    if (!is_on(4) || !(is_on(0) || is_on(3))) all.push_back(each);
  }
  return all;
}

struct Seen {
  int grown = 0;
  int extended = 0;  // to further NUMA nodes
  int shrunk = 0;
  int left_nodes = 0;
  int refused = 0;
};

class History {
 public:
  History(Topology topology, const Combination& combination, Chance chance, Seen& seen)
      : topology_(std::move(topology)),
        options_{.take = combination.take, .whole_cores = combination.full_pcpus_only},
        widths_(topology_, options_),
        chance_(std::move(chance)),
        seen_(seen) {
    if (options_.whole_cores) options_.take.group_size = topology_.threads_per_core();
    free_ = topology_.cpus() - CpuSet{topology_.cpus().first()};  // that one is reserved
    // Where the reserved CPUs are not part of the shared ones, one of these must be left.
    if (combination.strict_reservation) free_.erase(free_.first());
    if (options_.whole_cores) free_ = topology_.whole_cores_within(free_);
  }

  void step() {
    Holding& holding = holdings_[static_cast<std::size_t>(chance_(0, kContainers - 1))];
    if (holding.assigned.empty()) return start(holding);
    const int kind = chance_(0, 29);
    if (kind == 0) {
      free_ |= holding.assigned;
      holding = {};
    } else if (kind % 2 == 0) {
      grow(holding);
    } else {
      shrink(holding);
    }
  }

 private:
  struct Holding {
    CpuSet assigned{};
    CpuSet promised{};
  };

  int step_size() const { return options_.whole_cores ? topology_.threads_per_core() : 1; }

  void start(Holding& holding) {
    const auto taken =
        grow_by_topology(topology_, {}, free_, step_size() * chance_(1, 3), options_);
    if (!taken) return;
    free_ -= *taken;
    holding = {.assigned = *taken, .promised = *taken};
  }

  void check(const CpuSet& result, const CpuSet& base, const CpuSet& pool, int count) const {
    ASSERT_EQ(result.size(), count);
    ASSERT_TRUE(base.is_subset_of(result));
    ASSERT_TRUE(result.is_subset_of(base | pool));
    if (options_.whole_cores) {
      ASSERT_EQ(topology_.whole_cores_within(result), result);
    }
    if (widths_.depends_on_cores()) return;
    const NodeSet nodes = topology_.nodes_of(result);
    const NodeSet kept = topology_.nodes_of(base);
    // As narrow as can be; so no further node comes in where those kept have room.
    ASSERT_EQ(widths_.of(nodes), widths_.least(base, pool, count));
    const int room = (pool & topology_.cpus_in(kept)).size();
    if (!base.empty() && base.size() + room >= count) {
      ASSERT_EQ(nodes, kept);
    }
  }

  void grow(Holding& holding) {
    const int has = holding.assigned.size();
    const int count = has + chance_(1, 3) * step_size();
    const auto grown = grow_by_topology(topology_, holding.assigned, free_, count, options_);
    if (!grown) {
      ++seen_.refused;
      const bool fits = has + free_.size() >= count;
      ASSERT_TRUE(!fits || widths_.depends_on_cores());
      return;
    }
    ++seen_.grown;
    check(*grown, holding.assigned, free_, count);
    if (topology_.nodes_of(*grown) != topology_.nodes_of(holding.assigned)) ++seen_.extended;
    free_ -= *grown;
    holding.assigned = *grown;
  }

  void shrink(Holding& holding) {
    const int spare = (holding.assigned.size() - holding.promised.size()) / step_size();
    if (spare < 1) return;
    const int count = holding.assigned.size() - chance_(1, spare) * step_size();
    const auto kept =
        shrink_by_topology(topology_, holding.assigned, holding.promised, count, options_);
    if (!kept) {
      ++seen_.refused;
      ASSERT_TRUE(widths_.depends_on_cores());
      return;
    }
    ++seen_.shrunk;
    check(*kept, holding.promised, holding.assigned - holding.promised, count);
    if (topology_.nodes_of(*kept) != topology_.nodes_of(holding.assigned)) ++seen_.left_nodes;
    free_ |= holding.assigned - *kept;
    holding.assigned = *kept;
  }

  Topology topology_;
  ResizeOptions options_;
  Widths widths_;
  CpuSet free_{};
  std::array<Holding, kContainers> holdings_{};
  Chance chance_;
  Seen& seen_;
};

TEST(ResizeHistory, KeepsEveryRuleInAMillionResizes) {
  const std::vector<Combination> combinations = every_combination();
  ASSERT_EQ(combinations.size(), 40U);
  std::vector<Seen> seen(combinations.size());
  int resizes = 0;
  int machines = 0;
  for (int seed = 0; resizes < kResizes; ++seed) {
    const Chance chance = seeded_chance(static_cast<std::uint64_t>(seed));
    Topology topology = random_machine(chance, 24);
    if (topology.cpu_count() < 4) continue;
    if (chance(0, 1) == 0) topology = with_random_distances(chance, topology);
    const std::size_t which = static_cast<std::size_t>(seed) % combinations.size();
    Seen& own = seen[which];
    const int before = own.grown + own.shrunk;
    History history(std::move(topology), combinations[which], chance, own);
    for (int i = 0; i < kResizesOfAMachine; ++i) {
      ASSERT_NO_FATAL_FAILURE(history.step()) << "seed " << seed << " step " << i;
    }
    ++machines;
    resizes += own.grown + own.shrunk - before;
  }
  Seen all;
  for (const Seen& each : seen) {
    for (int Seen::*field :
         {&Seen::grown, &Seen::extended, &Seen::shrunk, &Seen::left_nodes, &Seen::refused}) {
      EXPECT_GT(each.*field, 0);
      all.*field += each.*field;
    }
  }
  std::printf(
      "%d machines, %d resizes: %d grew (%d to further NUMA nodes), %d shrank (%d off NUMA "
      "nodes); %d more refused\n",
      machines, resizes, all.grown, all.extended, all.shrunk, all.left_nodes, all.refused);
}

}  // namespace
}  // namespace corehold
