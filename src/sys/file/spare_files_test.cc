// SPDX-License-Identifier: Apache-2.0
#include "sys/file/spare_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/descriptor.h"

namespace corehold {
namespace {

TEST(SpareFiles, AreKept) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_TRUE(check_spare_files());
  std::vector<Descriptor> open;
  while (check_spare_files()) {
    open.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(open.back().is_open());
  }
  EXPECT_EQ(open.back().get(), 200 - 64 - 1);
  EXPECT_THAT(check_spare_files().error().message, testing::HasSubstr("LimitNOFILE="));
  // Also when none at all is left.
  while (true) {
    Descriptor more(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!more.is_open()) break;
    open.push_back(std::move(more));
  }
  EXPECT_FALSE(check_spare_files());
  open.clear();
  EXPECT_TRUE(check_spare_files());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace corehold
