// SPDX-License-Identifier: Apache-2.0
#include "container/container_exit.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(ReasonOfAnExit, FollowsTheCodeOfAContainerThatEnded) {
  EXPECT_EQ(reason_of({}), "Completed");
  EXPECT_EQ(reason_of({.code = 3}), "Error");
  EXPECT_EQ(reason_of({.code = 137, .signal = 9}), "Error");
}

TEST(ReasonOfAnExit, NamesTheCauseWhateverTheCode) {
  EXPECT_EQ(reason_of({.code = 137, .cause = ExitCause::kOutOfMemory}), "OOMKilled");
  EXPECT_EQ(reason_of({.cause = ExitCause::kUnknown}), "ContainerStatusUnknown");
  EXPECT_EQ(reason_of({.code = 128, .cause = ExitCause::kNotStarted}), "StartError");
  EXPECT_EQ(reason_of({.code = 137, .cause = ExitCause::kRestartAll}), "RestartingAllContainers");
}

TEST(CauseOfAReason, IsTheOneThatGivesTheReason) {
  for (const ExitCause cause : {ExitCause::kEnded, ExitCause::kOutOfMemory, ExitCause::kUnknown,
                                ExitCause::kNotStarted, ExitCause::kRestartAll}) {
    EXPECT_EQ(cause_of(reason_of({.cause = cause})), cause) << reason_of({.cause = cause});
  }
  EXPECT_EQ(cause_of("Error"), ExitCause::kEnded);
  EXPECT_EQ(cause_of(""), ExitCause::kEnded);
  EXPECT_EQ(cause_of("Evicted"), ExitCause::kEnded);
}

}  // namespace
}  // namespace corehold
