// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_times.h"

#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

constexpr std::string_view kStat =
    "cpu  100 2 30 4000 5 6 7 8 9 10\ncpu0 60 1 20 2000 3 4 5 6 7 8\ncpu3 40 1 10 2000 2 2 2 2 2 "
    "2\n"
    "intr 5 0 0\nctxt 9\n";

TEST(CpuStat, IsReadByCpu) {
  const CpuTimes times = parse_cpu_stat(kStat);
  ASSERT_EQ(times.size(), 2U);
  const CpuTime& first = times.at(CpuId(0));
  EXPECT_EQ(first.user, 61U);
  EXPECT_EQ(first.system, 20U);
  EXPECT_EQ(first.idle, 2003U);
  EXPECT_EQ(first.irq, 4U);
  EXPECT_EQ(first.softirq, 5U);
  EXPECT_EQ(first.steal, 6U);
  EXPECT_FALSE(first.run_ns);
  EXPECT_TRUE(parse_cpu_stat("cpux 1 2 3 4\ncpu9999 1 2 3 4\ncpu1 1\n").empty());
}

TEST(Schedstat, GivesRunAndWaitingTime) {
  MadeFiles proc;
  proc.write("stat", kStat);
  proc.write("schedstat",
             "version 17\ntimestamp 4294938296\ncpu0 0 0 0 0 0 0 987654321 1234 77\n"
             "domain0 PKG 3 0 0\ncpu1 0 0 0 0 0 0 1 1 1\n");
  const auto times = read_cpu_times(proc.root());
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->at(CpuId(0)).run_ns, 987654321U);
  EXPECT_EQ(times->at(CpuId(0)).wait_ns, 1234U);
  EXPECT_FALSE(times->at(CpuId(3)).run_ns);
  EXPECT_EQ(times->size(), 2U);
}

}  // namespace
}  // namespace corehold
