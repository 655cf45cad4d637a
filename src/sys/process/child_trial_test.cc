// SPDX-License-Identifier: Apache-2.0
#include "sys/process/child_trial.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(ChildTrial, TellsWhatBecameOfTheAttempt) {
  EXPECT_EQ(*try_in_child([] { return true; }), Verdict::kAccepted);
  EXPECT_EQ(*try_in_child([] { return false; }), Verdict::kRefused);
  EXPECT_EQ(*try_in_child([]() -> bool { std::_Exit(7); }), Verdict::kDied);
  EXPECT_EQ(*try_in_child([] { return std::raise(SIGKILL) == 0; }), Verdict::kDied);
}

TEST(ChildTrial, HearsComplaintsThatNobodyElseSees) {
  testing::internal::CaptureStderr();
  const auto verdict = try_in_child([] { return std::fputs("odd input\n", stderr) >= 0; });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(*verdict, Verdict::kComplained);
}

TEST(ChildTrial, LeavesTheParentAsItWas) {
  int value = 1;
  EXPECT_EQ(*try_in_child([&] { return (value = 2) == 2; }), Verdict::kAccepted);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace corehold
