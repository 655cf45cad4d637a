// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/testing.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(ChosenWord, IsTheOneInBrackets) {
  EXPECT_EQ(chosen_word("always [madvise] never"), "madvise");
  EXPECT_EQ(chosen_word("[always] madvise never"), "always");
  for (const char* const text : {"", "always", "[", "]", "[]", "][", "always [madvise", "]a["}) {
    EXPECT_FALSE(chosen_word(text)) << text;
  }
}

TEST(MountsOfResctrl, AreKnownByTheirFileSystem) {
  EXPECT_TRUE(
      mounts_resctrl("proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,nosuid 0 0"));
  EXPECT_TRUE(mounts_resctrl("none /mnt resctrl"));
  EXPECT_FALSE(mounts_resctrl("resctrl /sys/fs/resctrl tmpfs rw 0 0\n"));
  for (const char* const text : {"", "\n\n", "resctrl", "resctrl resctrl", "   "}) {
    EXPECT_FALSE(mounts_resctrl(text)) << text;
  }
}

TEST(CpuFlags, AreThoseOfTheFirstCpu) {
  const std::string_view text =
      "processor\t: 0\nvmx flags\t: cat_l3\nflags\t\t: fpu rdt_a cat_l3_x cdp_l3\n"
      "processor\t: 1\nflags\t\t: cat_l3\n";
  EXPECT_TRUE(has_cpu_flag(text, "rdt_a"));
  EXPECT_TRUE(has_cpu_flag(text, "cdp_l3"));
  EXPECT_FALSE(has_cpu_flag(text, "cat_l3"));
  for (const char* const none : {"", "flags", "flags:", ":cat_l3", "Features : cat_l3", "\n:\n"}) {
    EXPECT_FALSE(has_cpu_flag(none, "cat_l3")) << none;
  }
}

class Settings : public testing::Test {
 protected:
  KernelSettings read() const {
    return read_kernel_settings(CpuSet{CpuId(2), CpuId(3)}, proc_.root(), sys_.root());
  }

  MadeFiles proc_{};
  MadeFiles sys_{};
};

TEST_F(Settings, NeedNoFileAtAll) { EXPECT_EQ(read(), KernelSettings()); }

TEST_F(Settings, TakeAllThatThereIs) {
  proc_.write("sys/kernel/numa_balancing", "1\n");
  proc_.write("sys/kernel/sched_rt_runtime_us", "-1\n");
  proc_.write("sys/kernel/sched_rt_period_us", "1000000\n");
  sys_.write("kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  const std::string cpus = "devices/system/cpu/";
  sys_.write(cpus + "cpu1/cpufreq/scaling_governor", "powersave\n");
  sys_.write(cpus + "cpu3/cpufreq/scaling_governor", "schedutil\n");
  sys_.write(cpus + "intel_uncore_frequency/package_01_die_00/min_freq_khz", "800000\n");
  sys_.write(cpus + "intel_uncore_frequency/package_01_die_00/max_freq_khz", "2400000\n");
  sys_.write(cpus + "intel_uncore_frequency/package_00_die_00/min_freq_khz", "800000\n");
  const KernelSettings settings = read();
  EXPECT_EQ(settings.numa_balancing, 1);
  EXPECT_EQ(settings.rt_runtime_us, -1);
  EXPECT_EQ(settings.rt_period_us, 1'000'000);
  EXPECT_EQ(settings.transparent_hugepage, "always");
  EXPECT_THAT(settings.governors, ElementsAre(Pair(CpuId(3), "schedutil")));
  EXPECT_THAT(settings.uncores,
              ElementsAre(UncoreFrequency{
                  .name = "package_01_die_00", .min_khz = 800'000, .max_khz = 2'400'000}));
  EXPECT_FALSE(settings.resctrl_is_mounted);
}

TEST_F(Settings, AreNotKnownWhereTheTextIsStrange) {
  proc_.write("sys/kernel/numa_balancing", "on\n");
  proc_.write("sys/kernel/sched_rt_runtime_us", "99999999999999999999\n");
  proc_.write("sys/kernel/sched_rt_period_us", "");
  proc_.write("mounts", std::string("\0\xff\n", 3));
  sys_.write("kernel/mm/transparent_hugepage/enabled", "always madvise never\n");
  sys_.write("devices/system/cpu/cpu2/cpufreq/scaling_governor", "\n");
  sys_.write("devices/system/cpu/intel_uncore_frequency", "no directory\n");
  sys_.write("fs/resctrl", "no directory\n");
  EXPECT_EQ(read(), KernelSettings());
}

TEST_F(Settings, KnowResctrlByItsDirectory) {
  ASSERT_TRUE(make_directories(sys_.root() + "/fs/resctrl", 0755));
  proc_.write("cpuinfo", "processor\t: 0\nflags\t\t: fpu cat_l3\n");
  EXPECT_EQ(read().resctrl_is_mounted, false);
  EXPECT_TRUE(read().has_cat_l3);
  sys_.write("fs/resctrl/schemata", "L3:0=fff\n");
  EXPECT_EQ(read().resctrl_is_mounted, true);
  EXPECT_FALSE(read().has_cat_l3);
}

TEST_F(Settings, KnowResctrlThatIsMountedElsewhere) {
  ASSERT_TRUE(make_directories(sys_.root() + "/fs/resctrl", 0755));
  proc_.write("mounts", "resctrl /mnt/cache resctrl rw 0 0\n");
  EXPECT_EQ(read().resctrl_is_mounted, true);
}

}  // namespace
}  // namespace corehold
