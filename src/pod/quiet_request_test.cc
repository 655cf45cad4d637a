// SPDX-License-Identifier: Apache-2.0
#include "pod/quiet_request.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(QuietRequest, IsAPartitionOrNothing) {
  EXPECT_EQ(partition_of({}), CpuPartition::kNone);
  EXPECT_EQ(partition_of({{kQuietAnnotation, "partition"}}), CpuPartition::kIsolated);
  EXPECT_EQ(partition_of({{kQuietAnnotation, "very"}}), CpuPartition::kNone);
}

TEST(QuietRequest, NamesTheWordThatItDoesNotKnow) {
  const auto refused = parse_quiet("Partition");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            R"("Partition" is not known; write "partition", or leave the annotation out)");
}

}  // namespace
}  // namespace corehold
