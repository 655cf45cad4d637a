// SPDX-License-Identifier: Apache-2.0
//
// Against the machine the test runs on.
#include <sched.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "discover/hwloc_source.h"

namespace corehold {
namespace {

CpuSet online() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  file >> text;
  return *CpuSet::parse(text);
}

TEST(Host, HasExactlyTheOnlineCpus) {
  const auto host = topology_from_host();
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->cpus(), online());
}

TEST(Host, IsTheSameUnderANarrowAffinityWhichItLeavesAlone) {
  const auto before = topology_from_host();
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const auto pinned = topology_from_host();
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  ASSERT_TRUE(before && pinned);
  EXPECT_EQ(pinned->places(), before->places());
  EXPECT_TRUE(CPU_EQUAL(&after, &one));
}

}  // namespace
}  // namespace corehold
