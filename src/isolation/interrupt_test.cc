// SPDX-License-Identifier: Apache-2.0
#include "isolation/interrupt.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(ManagedByName, KnowsTheQueuesOfDisks) {
  EXPECT_EQ(managed_by_name({"nvme0q1"}), Managed::kByName);
  EXPECT_EQ(managed_by_name({"nvme12q31"}), Managed::kByName);
  EXPECT_EQ(managed_by_name({"virtio1-req.0"}), Managed::kByName);
}

TEST(ManagedByName, LeavesTheOthers) {
  for (const char* name : {"nvme0q0", "nvme0", "nvmeq1", "nvme0q1x", "virtio2-input.0",
                           "virtio1-config", "virtio-req.0", "virtio1-req.", "eth0-TxRx-1", ""}) {
    EXPECT_EQ(managed_by_name({name}), Managed::kNo) << name;
  }
  EXPECT_EQ(managed_by_name({}), Managed::kNo);
}

TEST(InterruptTable, CountsByTheColumnOfACpu) {
  const InterruptTable table{
      .columns = {CpuId(0), CpuId(2)},
      .rows = {{.label = "LOC", .counts = {5, 7}}, {.label = "ERR", .counts = {3}}}};
  EXPECT_EQ(table.count(table.rows[0], CpuId(2)), 7U);
  EXPECT_EQ(table.count(table.rows[0], CpuId(1)), 0U);
  EXPECT_EQ(table.count(table.rows[1], CpuId(2)), 0U);
  EXPECT_EQ(table.find("LOC"), &table.rows[0]);
  EXPECT_EQ(table.find("RES"), nullptr);
}

}  // namespace
}  // namespace corehold
