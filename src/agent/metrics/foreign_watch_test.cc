// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/foreign_watch.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/worker_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A machine of four CPUs whose one foreign task runs a little between any two looks.
class ForeignWatchTest : public testing::Test {
 protected:
  ForeignWatch::Parts parts() {
    return {
        .loop = loop_,
        .worker = worker_,
        .holders = [this] { return holders_; },
        .tell = [this](const QuietReport& report) { told_.push_back(report); },
        .read = [this](const CpuSet& asked) -> Result<MachineSnapshot> {
          asked_.push_back(asked);
          if (is_broken_) return Error{Code::kIo, "no"};
          run_ns_ += 1000;
          return MachineSnapshot{
              .tasks = {
                  {.pid = 7, .tid = 7, .last_cpu = 2, .affinity = cpus("0-3"), .run_ns = run_ns_}}};
        },
        .read_kernel = []() -> Result<KernelFacts> { return KernelFacts{.online = cpus("0-3")}; }};
  }
  // The look that is asked for, and the timer of the next one, which the period of 0 lets go.
  void look() {
    ASSERT_TRUE(worker_.step());
    loop_.restart();
    loop_.run_one();
  }

  boost::asio::io_context loop_{1};
  ManualWorker worker_{};
  std::vector<QuietHolder> holders_{{.name = "/u/main", .cpus = cpus("2"), .cgroup = "/u/main"}};
  std::uint64_t run_ns_ = 0;
  bool is_broken_ = false;
  std::vector<CpuSet> asked_{};
  std::vector<QuietReport> told_{};
};

TEST_F(ForeignWatchTest, TellsWhatHappenedBetweenTwoLooks) {
  ForeignWatch watch(parts());
  watch.begin();
  look();
  EXPECT_THAT(told_.at(0).cpus, IsEmpty());
  look();
  ASSERT_THAT(told_, SizeIs(2));
  ASSERT_THAT(told_[1].cpus, SizeIs(1));
  EXPECT_THAT(told_[1].cpus[0].ran, SizeIs(1));
  EXPECT_EQ(told_[1].cpus[0].ran_ns, 1000U);
  EXPECT_EQ(asked_.at(0), cpus("2"));
}

TEST_F(ForeignWatchTest, LeavesOutCpusThatHaveChangedHands) {
  ForeignWatch watch(parts());
  watch.begin();
  look();
  // The next look has been asked for, with the holders of that moment.
  holders_ = {{.name = "/v/main", .cpus = cpus("2-3"), .cgroup = "/v/main"}};
  look();
  EXPECT_THAT(told_.at(1).cpus, SizeIs(1));
  look();
  EXPECT_THAT(told_.at(2).cpus, IsEmpty());
  look();
  EXPECT_THAT(told_.at(3).cpus, SizeIs(2));
}

TEST_F(ForeignWatchTest, ReadsNothingWhileNothingIsHeld) {
  holders_.clear();
  ForeignWatch watch(parts());
  watch.begin();
  look();
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(told_, SizeIs(1));
}

TEST_F(ForeignWatchTest, GoesOnAfterALookThatFailed) {
  ForeignWatch watch(parts());
  watch.begin();
  look();
  is_broken_ = true;
  look();
  is_broken_ = false;
  look();
  EXPECT_THAT(told_.at(2).cpus, IsEmpty());
  look();
  EXPECT_THAT(told_.at(3).cpus, SizeIs(1));
}

TEST(QuietHolders, AreTheContainersOfTheBooks) {
  State state;
  state.pods.set("u1", "main", {.assigned = cpus("2-3"), .promised = cpus("2")});
  const auto holders = quiet_holders(state);
  ASSERT_THAT(holders, SizeIs(1));
  EXPECT_EQ(holders[0].cpus, cpus("2-3"));
  EXPECT_EQ(holders[0].cgroup, "/u1/main");
}

}  // namespace
}  // namespace corehold
