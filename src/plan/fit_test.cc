// SPDX-License-Identifier: Apache-2.0
#include "plan/fit.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

// Two sockets of two L3 caches of four two-thread cores: 0-7, 8-15 and 16-23, 24-31.
class FitOnAServer : public testing::Test {
 protected:
  Fit fit(std::string_view list) const {
    return fit_of(machine_, machine_.cpus() - cpus("0-1"), cpus(list));
  }

  Topology machine_ = machine("2s2l4c2t");
};

TEST_F(FitOnAServer, CountsWhatIsTouched) {
  const Fit two_caches = fit("6-9");
  EXPECT_EQ(two_caches.cores, (Spread{.touched = 2, .fewest = 2}));
  EXPECT_EQ(two_caches.caches, (Spread{.touched = 2, .fewest = 1}));
  EXPECT_EQ(two_caches.nodes, (Spread{.touched = 1, .fewest = 1}));
  EXPECT_EQ(two_caches.sockets, (Spread{.touched = 1, .fewest = 1}));
  EXPECT_FALSE(two_caches.caches.is_best());
  EXPECT_TRUE(two_caches.nodes.is_one());
}

TEST_F(FitOnAServer, SeesCoresThatAreSplit) {
  EXPECT_TRUE(fit("2-5").is_whole_cores());
  EXPECT_EQ(fit("2-4").split_cores, 1);
  EXPECT_EQ(fit("2,4,6-7").split_cores, 2);
}

TEST_F(FitOnAServer, CountsTheFewestInWhatMayBeGiven) {
  // NUMA node 0 has 14 CPUs to give, 1 has 16.
  EXPECT_EQ(fit("16-31").nodes.fewest, 1);
  EXPECT_EQ(fit("2-15,16-18").nodes.fewest, 2);
  EXPECT_TRUE(fit("2-15,16-18").nodes.is_best());
}

TEST(Fit, OfNothingTouchesNothing) {
  const Topology machine = corehold::machine("1s2c2t");
  EXPECT_EQ(fit_of(machine, machine.cpus(), {}), Fit{});
}

}  // namespace
}  // namespace corehold
