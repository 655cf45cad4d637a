// SPDX-License-Identifier: Apache-2.0
#include "alloc/take.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

std::string taken(const Topology& topology, std::string_view available, int count,
                  const TakeOptions& options = {}, const Held& held = {}) {
  const auto result = take_by_topology(topology, cpus(available), count, options, held);
  return result ? result->str() : result.error().message;
}

// CPUs 0-7 are socket 0, 8-15 socket 1; siblings are neighbours (0-1, 2-3, ...).
class TwoSockets : public testing::Test {
 protected:
  const Topology topology_ = machine("2s4c2t");
};

TEST_F(TwoSockets, GivesSiblingsOfOneCore) { EXPECT_EQ(taken(topology_, "0-15", 2), "0-1"); }

TEST_F(TwoSockets, GivesAWholeSocketWhenThatIsAskedFor) {
  EXPECT_EQ(taken(topology_, "2-15", 8), "8-15");
}

TEST_F(TwoSockets, FillsTheBusierSocketFirst) { EXPECT_EQ(taken(topology_, "0-15", 4), "0-3"); }

TEST_F(TwoSockets, FillsABrokenCoreBeforeBreakingAnother) {
  EXPECT_EQ(taken(topology_, "0-5,7-15", 1), "7");
}

TEST_F(TwoSockets, SpreadsOverCores) {
  EXPECT_EQ(
      taken(machine("1s4c2t", Numbering::kThreadsFar), "0-7", 3, {.order = CpuOrder::kSpread}),
      "0-2");
}

TEST_F(TwoSockets, DistributesEvenlyOverNodes) {
  EXPECT_EQ(taken(topology_, "0-15", 10, {.across_numa = true}), "0-4,8-12");
  EXPECT_EQ(taken(topology_, "0-15", 12, {.across_numa = true, .group_size = 2}), "0-5,8-13");
}

TEST_F(TwoSockets, SaysHowManyAreMissing) {
  EXPECT_EQ(taken(topology_, "0-7", 10),
            "not enough cpus available to satisfy request: requested=10, available=8");
}

TEST_F(TwoSockets, GivesNothingWhenNothingIsAsked) {
  EXPECT_EQ(taken(topology_, "0-7", 0), "");
  EXPECT_EQ(taken(topology_, "0-7", -3), "");
}

TEST_F(TwoSockets, NeverGivesCpusTheMachineLacks) {
  EXPECT_EQ(taken(topology_, "15-100", 2),
            "not enough cpus available to satisfy request: requested=2, available=86");
}

TEST(TakeUncore, PrefersOneCacheOverTheFullestSocket) {
  const Topology caches = machine("1s4l2c2t");
  EXPECT_EQ(taken(caches, "2-15", 4, {.prefer_uncore = true}), "4-7");
  EXPECT_EQ(taken(caches, "2-15", 4), "2-5");
}

TEST(TakeUncore, WorksInsideEachNodeWhenDistributing) {
  const Topology caches = machine("2s2l2c2t");
  EXPECT_EQ(taken(caches, "2-15", 12, {.prefer_uncore = true, .across_numa = true}), "2-13");
}

TEST(TakeIrregular, CountsEachCoreForItself) {
  // Core 1 has lost a sibling: two whole cores make three CPUs.
  const Topology broken = without(machine("1s4c2t"), cpus("3"));
  EXPECT_EQ(taken(broken, "0-2,4-7", 3), "0-2");
}

TEST(TakeHeld, GrowsFromWhatIsHeld) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(taken(topology, "0-15", 4, {}, {.keep = cpus("8-9"), .prefer = cpus("8-9")}), "8-11");
}

TEST(TakeHeld, ShrinksInsideWhatIsHeld) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(taken(topology, "0-15", 4, {}, {.keep = cpus("8-9"), .prefer = cpus("0-3,8-11")}),
            "8-11");
}

TEST(TakeHeld, FailsEarlyWhenSetsAreNotSubsets) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(taken(topology, "0-7", 4, {}, {.prefer = cpus("6-9")}),
            "CPUs to prefer 6-9 are not a subset of available CPUs 0-7");
  EXPECT_EQ(taken(topology, "0-7", 4, {}, {.keep = cpus("8")}),
            "CPUs to keep 8 are not a subset of available CPUs 0-7");
  EXPECT_EQ(taken(topology, "0-7", 4, {}, {.keep = cpus("0-1"), .prefer = cpus("1-2")}),
            "CPUs to keep 0-1 are not a subset of CPUs to prefer 1-2");
  EXPECT_EQ(taken(topology, "0-7", 1, {}, {.keep = cpus("0-1"), .prefer = cpus("0-2")}),
            "CPUs to keep 0-1 are 2, more than the 1 requested");
}

TEST(TakeManyNodes, StaysQuickWithSixtyFourNodes) {
  const Topology large = machine("4s16n32c2t");
  const auto result = take_by_topology(large, large.cpus(), 2049, {.across_numa = true});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->size(), 2049);
}

}  // namespace
}  // namespace corehold
