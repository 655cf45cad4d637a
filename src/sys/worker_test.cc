// SPDX-License-Identifier: Apache-2.0
#include "sys/worker.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace corehold {
namespace {

class WorkerThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto started = worker_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  boost::asio::io_context loop_{1};
  std::optional<WorkerThread> worker_{std::in_place, loop_};
};

TEST_F(WorkerThreadTest, WorksBesideTheLoopAndComesBackToIt) {
  std::thread::id worked{};
  std::thread::id came_back{};
  worker_->run([&] { worked = std::this_thread::get_id(); },
               [&] { came_back = std::this_thread::get_id(); });
  loop_.run();
  EXPECT_NE(worked, std::thread::id());
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(came_back, std::this_thread::get_id());
}

TEST_F(WorkerThreadTest, DoesOnePieceAfterTheOther) {
  std::vector<int> worked;
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) {
    worker_->run([&worked, i] { worked.push_back(i); }, [&done, i] { done.push_back(i); });
  }
  loop_.run();
  ASSERT_EQ(worked.size(), 100U);
  EXPECT_TRUE(std::is_sorted(worked.begin(), worked.end()));
  EXPECT_EQ(done, worked);
}

TEST_F(WorkerThreadTest, CanBeWaitedForWithoutTheLoop) {
  std::string text;
  bool is_done = false;
  worker_->run([&] { text = "worked"; }, [&] { is_done = true; });
  worker_->wait();
  EXPECT_EQ(text, "worked");
  EXPECT_FALSE(is_done);
  loop_.run();
  EXPECT_TRUE(is_done);
}

TEST_F(WorkerThreadTest, DoesWhatItWasGivenBeforeItEnds) {
  int worked = 0;
  for (int i = 0; i < 10; ++i) worker_->run([&worked] { ++worked; }, [] {});
  worker_.reset();
  EXPECT_EQ(worked, 10);
}

}  // namespace
}  // namespace corehold
