// SPDX-License-Identifier: Apache-2.0
#include "sys/worker_lanes.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

class WorkerLanesTest : public testing::Test {
 protected:
  boost::asio::io_context loop_{1};
  std::optional<WorkerLanes> lanes_{std::in_place, loop_};
};

TEST_F(WorkerLanesTest, WorksBesideTheLoopAndComesBackToIt) {
  std::thread::id worked{};
  std::thread::id came_back{};
  lanes_->run(
      "a", [&] { worked = std::this_thread::get_id(); },
      [&] { came_back = std::this_thread::get_id(); });
  loop_.run();
  EXPECT_NE(worked, std::thread::id());
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(came_back, std::this_thread::get_id());
}

TEST_F(WorkerLanesTest, KeepsTheOrderWithinALane) {
  constexpr int kPieces = 100;
  constexpr std::size_t kLanes = 8;
  std::vector<std::vector<int>> worked(kLanes);
  std::vector<std::vector<int>> done(kLanes);
  std::vector<int> expected;
  for (int piece = 0; piece < kPieces; ++piece) {
    expected.push_back(piece);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes_->run(
          std::to_string(lane), [&worked, lane, piece] { worked[lane].push_back(piece); },
          [&done, lane, piece] { done[lane].push_back(piece); });
    }
  }
  loop_.run();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(worked[lane], expected);
    EXPECT_EQ(done[lane], expected);
  }
}

TEST_F(WorkerLanesTest, TakesMoreWorkFromWhatFollowsWork) {
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds < 50)
      lanes_->run(
          "a", [] {}, again);
  };
  lanes_->run(
      "a", [] {}, again);
  loop_.run();
  EXPECT_EQ(rounds, 50);
}

TEST_F(WorkerLanesTest, ALaneThatHangsHoldsUpOnlyItself) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::vector<std::string> done;
  lanes_->run(
      "hung", [released] { released.wait(); }, [&] { done.emplace_back("hung"); });
  lanes_->run(
      "hung", [] {}, [&] { done.emplace_back("behind it"); });
  int left = 50;
  for (int lane = 0; lane < 50; ++lane) {
    lanes_->run(
        std::to_string(lane), [] {},
        [&] {
          if (--left > 0) return;
          EXPECT_TRUE(done.empty());
          release.set_value();
        });
  }
  loop_.run();
  EXPECT_EQ(done, (std::vector<std::string>{"hung", "behind it"}));
}

// More of them than there are threads, some before the others are given work and some after.
TEST_F(WorkerLanesTest, LanesThatHangDoNotKeepOthersFromTheirThreads) {
  constexpr int kHung = 10;
  lanes_.emplace(loop_, WorkerLimits{.threads = 2, .patience = std::chrono::milliseconds(1)});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  int hung = 0;
  int healthy = 0;
  const auto hang = [&](int lane) {
    lanes_->run(
        fmt::format("hung {}", lane), [released] { released.wait(); }, [&] { ++hung; });
  };
  for (int lane = 0; lane < kHung; ++lane) hang(lane);
  std::function<void()> again = [&] {
    EXPECT_EQ(hung, 0);
    if (++healthy == 2 * kHung) return release.set_value();
    hang(kHung + healthy);
    lanes_->run(
        "healthy", [] {}, again);
  };
  lanes_->run(
      "healthy", [] {}, again);
  loop_.run();
  EXPECT_EQ(healthy, 2 * kHung);
  EXPECT_EQ(hung, kHung + 2 * kHung - 1);
}

TEST_F(WorkerLanesTest, WorksOnNoMoreLanesAtOnceThanItMay) {
  lanes_.emplace(loop_, WorkerLimits{.threads = 3, .patience = std::chrono::hours(1)});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  int left = 50;
  for (int lane = 0; lane < 50; ++lane) {
    lanes_->run(
        std::to_string(lane),
        [&at_work, &most, released] {
          const int now = ++at_work;
          for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
          }
          released.wait();
          --at_work;
        },
        [&] {
          if (--left == 0) lanes_.reset();  // and what it waits for
        });
  }
  release.set_value();
  loop_.run();
  EXPECT_EQ(left, 0);
  EXPECT_LE(most, 3);
}

TEST_F(WorkerLanesTest, WorkThatHangsDoesNotKeepItFromGoing) {
  // Outlive the thread that is left behind.
  auto release = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  auto begun = std::make_shared<std::promise<void>>();
  bool is_done = false;
  lanes_->run(
      "hung",
      [begun, released = release->get_future().share(), ended] {
        begun->set_value();
        released.wait();
        ended->set_value();
      },
      [&] { is_done = true; });
  lanes_->run(
      "hung", [] { ADD_FAILURE() << "was not to begin any more"; }, [&] { is_done = true; });
  begun->get_future().wait();
  lanes_.reset();
  loop_.run();
  EXPECT_FALSE(is_done);
  release->set_value();
  ended->get_future().wait();
}

TEST_F(WorkerLanesTest, DoesWhatItWasGivenBeforeItGoes) {
  int worked = 0;
  bool is_done = false;
  for (int piece = 0; piece < 5; ++piece) {
    lanes_->run(
        "a", [&] { ++worked; }, [&] { is_done = true; });
  }
  lanes_.reset();
  EXPECT_EQ(worked, 5);
  EXPECT_FALSE(is_done);
}

TEST_F(WorkerLanesTest, WaitsForWorkThatHasBegun) {
  auto begun = std::make_shared<std::promise<void>>();
  bool is_over = false;
  lanes_->run(
      "a",
      [begun, &is_over] {
        begun->set_value();
        std::this_thread::yield();
        is_over = true;
      },
      [] {});
  begun->get_future().wait();
  lanes_.reset();
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace corehold
