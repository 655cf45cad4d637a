// SPDX-License-Identifier: Apache-2.0
#include "isolation/quiet_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const KernelFacts kOldKernel{.major = 6, .minor = 1};
const KernelFacts kNewKernel{.major = 6, .minor = 12};

// "SETTING NOW -> ADVISED", the CPUs in brackets.
std::vector<std::string> told(const KernelSettings& settings,
                              const KernelFacts& kernel = kOldKernel) {
  std::vector<std::string> lines;
  for (const QuietAdvice& item : quiet_advice(settings, kernel)) {
    const std::string cpus = item.cpus.empty() ? "" : " [" + item.cpus.str() + "]";
    lines.push_back(item.setting + cpus + " " + item.now + " -> " + item.advised);
    EXPECT_LE(item.why.size(), 24U) << item.why;
    EXPECT_FALSE(item.files.empty());
  }
  return lines;
}

TEST(QuietAdviceTest, IsNoneWhereNothingIsKnown) {
  EXPECT_THAT(told({}), IsEmpty());
  EXPECT_THAT(told({}, {}), IsEmpty());
}

TEST(QuietAdviceTest, IsNoneWhereAllIsAsAdvised) {
  EXPECT_THAT(told({.governors = {{CpuId(2), "performance"}},
                    .uncores = {{.name = "uncore00", .min_khz = 2'400'000, .max_khz = 2'400'000}},
                    .numa_balancing = 0,
                    .rt_runtime_us = -1,
                    .rt_period_us = 1'000'000,
                    .transparent_hugepage = "madvise",
                    .resctrl_is_mounted = true,
                    .has_cat_l3 = true}),
              IsEmpty());
}

TEST(QuietAdviceTest, HasOneItemForAllCpusOfAGovernor) {
  const KernelSettings settings{.governors = {{CpuId(2), "schedutil"},
                                              {CpuId(3), "schedutil"},
                                              {CpuId(4), "performance"},
                                              {CpuId(5), "powersave"},
                                              {CpuId(6), "userspace"}}};
  EXPECT_THAT(told(settings), ElementsAre("governor [5] powersave -> performance",
                                          "governor [2-3] schedutil -> performance"));
  EXPECT_THAT(quiet_advice(settings, kOldKernel)[1].files,
              ElementsAre("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor",
                          "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"));
}

TEST(QuietAdviceTest, HasOneItemForUncoresWithTheSameLimits) {
  const KernelSettings settings{
      .uncores = {{.name = "package_00_die_00", .min_khz = 800'000, .max_khz = 2'400'000},
                  {.name = "package_01_die_00", .min_khz = 800'000, .max_khz = 2'400'000},
                  {.name = "package_02_die_00", .min_khz = 2'400'000, .max_khz = 2'000'000}}};
  EXPECT_THAT(told(settings), ElementsAre("uncore min_freq_khz 800000 -> 2400000"));
  EXPECT_THAT(
      quiet_advice(settings, kOldKernel)[0].files,
      ElementsAre("/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz",
                  "/sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00/min_freq_khz"));
}

TEST(QuietAdviceTest, IsAgainstNumaBalancingOfAnyMode) {
  EXPECT_THAT(told({.numa_balancing = 1}), ElementsAre("kernel.numa_balancing 1 -> 0"));
  EXPECT_THAT(told({.numa_balancing = 2}), ElementsAre("kernel.numa_balancing 2 -> 0"));
}

TEST(QuietAdviceTest, IsAgainstThrottlingWhereTheKernelThrottles) {
  EXPECT_THAT(told({.rt_runtime_us = 950'000}),
              ElementsAre("kernel.sched_rt_runtime_us 950000 -> -1"));
  EXPECT_THAT(told({.rt_runtime_us = 950'000, .rt_period_us = 2'000'000}), SizeIs(1));
  // All of the period is no limit either.
  EXPECT_THAT(told({.rt_runtime_us = 1'000'000, .rt_period_us = 1'000'000}), IsEmpty());
  EXPECT_THAT(told({.rt_runtime_us = 950'000}, kNewKernel), IsEmpty());
}

TEST(QuietAdviceTest, IsAgainstHugePagesThatNobodyAskedFor) {
  EXPECT_THAT(told({.transparent_hugepage = "always"}),
              ElementsAre("transparent_hugepage always -> madvise"));
  EXPECT_THAT(told({.transparent_hugepage = "never"}), IsEmpty());
}

TEST(QuietAdviceTest, IsForResctrlOnlyWhereTheCacheCanBeDivided) {
  EXPECT_THAT(told({.resctrl_is_mounted = false, .has_cat_l3 = true}),
              ElementsAre("resctrl not mounted -> mounted"));
  EXPECT_THAT(told({.resctrl_is_mounted = false}), IsEmpty());
  EXPECT_THAT(told({.has_cat_l3 = true}), IsEmpty());
}

}  // namespace
}  // namespace corehold
