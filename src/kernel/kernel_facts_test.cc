// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_facts.h"

#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

TEST(KernelRelease, IsTwoNumbers) {
  EXPECT_EQ(parse_kernel_release("6.1.0-37-amd64"), std::pair(6, 1));
  EXPECT_EQ(parse_kernel_release("7.2-rc1"), std::pair(7, 2));
  EXPECT_EQ(parse_kernel_release("six"), std::pair(0, 0));
  const KernelFacts facts{.major = 6, .minor = 12};
  EXPECT_TRUE(facts.is_at_least(6, 7));
  EXPECT_TRUE(facts.is_at_least(5, 20));
  EXPECT_FALSE(facts.is_at_least(6, 13));
  EXPECT_FALSE(facts.is_at_least(7, 0));
}

TEST(BootParameter, IsTheLastOfItsName) {
  const std::string_view line = "quiet isolcpus=1 isolcpusx=9 isolcpus=2-3 nohz_full -- isolcpus=5";
  EXPECT_EQ(boot_parameter(line, "isolcpus"), "2-3");
  EXPECT_EQ(boot_parameter(line, "nohz_full"), "");
  EXPECT_FALSE(boot_parameter(line, "rcu_nocbs"));
}

TEST(BootCpus, AreReadAsTheKernelReadsThem) {
  const auto read = [](std::string_view text) { return parse_boot_cpus(text, CpuId(7)).str(); };
  EXPECT_EQ(read("2-3,6"), "2-3,6");
  EXPECT_EQ(read("nohz,domain,managed_irq,4-7"), "4-7");
  EXPECT_EQ(read("all"), "0-7");
  EXPECT_EQ(read("2-N"), "2-7");
  EXPECT_EQ(read("N"), "7");
  EXPECT_EQ(read("0-7:1/2"), "0,2,4,6");
  EXPECT_EQ(read("0-7:2/4"), "0-1,4-5");
  EXPECT_EQ(read("5-900"), "5-7");
  EXPECT_EQ(read("0-7:1/0,3-,-2,1x"), "");
  EXPECT_EQ(read(""), "");
}

class Facts : public testing::Test {
 protected:
  Facts() {
    proc_.write("sys/kernel/osrelease", "6.1.0-37-amd64\n");
    sys_.write("devices/system/cpu/online", "0-3\n");
  }
  Result<KernelFacts> read() const { return read_kernel_facts(proc_.root(), sys_.root()); }

  MadeFiles proc_{};
  MadeFiles sys_{};
};

TEST_F(Facts, NeedNoMoreThanReleaseAndCpus) {
  const auto facts = read();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->online.str(), "0-3");
  EXPECT_TRUE(facts->nohz_full.empty());
  EXPECT_EQ(facts->smt_siblings.at(CpuId(2)).str(), "2");
}

TEST_F(Facts, TakeAllThatThereIs) {
  proc_.write("sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
  proc_.write("cmdline", "root=/dev/vda isolcpus=managed_irq,domain,2-3 rcu_nocbs=1\n");
  sys_.write("devices/system/cpu/possible", "0-7\n");
  sys_.write("devices/system/cpu/isolated", "2-3\n");
  sys_.write("devices/system/cpu/nohz_full", "3\n");
  sys_.write("devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n");
  const auto facts = read();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->boot_id, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(facts->isolated.str(), "2-3");
  EXPECT_EQ(facts->isolcpus.str(), "2-3");
  EXPECT_EQ(facts->nohz_full.str(), "3");
  EXPECT_EQ(facts->rcu_nocbs.str(), "1,3");
  EXPECT_EQ(facts->smt_siblings.at(CpuId(1)).str(), "1,3");
}

TEST_F(Facts, ReadTheNullOfOldKernelsAsNone) {
  sys_.write("devices/system/cpu/nohz_full", "  (null)\n");
  sys_.write("devices/system/cpu/isolated", "\n");
  const auto facts = read();
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->nohz_full.empty());
  EXPECT_TRUE(facts->isolated.empty());
}

TEST_F(Facts, NameTheFileThatIsMissing) {
  MadeFiles empty;
  const auto facts = read_kernel_facts(proc_.root(), empty.root());
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message, "open " + empty.root() + "/devices/system/cpu/online: ENOENT");
}

}  // namespace
}  // namespace corehold
