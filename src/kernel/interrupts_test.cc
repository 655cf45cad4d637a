// SPDX-License-Identifier: Apache-2.0
#include "kernel/interrupts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Lines of a virtual machine, a server (CPU 1 offline) and an ARM board.
constexpr std::string_view kVirtual = R"(           CPU0       CPU2       
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 30:          0          9 PCI-MSIX-0000:00:01.0   2-edge      virtio0-req.0
 16:          7          8  IR-IO-APIC   16-fasteoi   i801_smbus, ehci_hcd:usb1
 40:          0          0  IR-PCI-MSI 458752-edge    
NMI:          0          0   Non-maskable interrupts
LOC:      85532      87929   Local timer interrupts
ERR:          5
)";
constexpr std::string_view kArm = R"(           CPU0       CPU1
 11:      10242      18041     GICv3  27 Level     arch_timer
 13:          3          0   msc gpio  12 Edge      some button
IPI0:       100        200       Rescheduling interrupts
)";

TEST(Interrupts, AreCountedByCpu) {
  const auto table = parse_interrupts(kVirtual);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_THAT(table->columns, ElementsAre(CpuId(0), CpuId(2)));
  ASSERT_EQ(table->rows.size(), 7U);
  const InterruptRow& disk = table->rows[1];
  EXPECT_EQ(disk.number, 30);
  EXPECT_EQ(disk.chip, "PCI-MSIX-0000:00:01.0");
  EXPECT_EQ(disk.type, "2-edge");
  EXPECT_THAT(disk.devices, ElementsAre("virtio0-req.0"));
  EXPECT_EQ(table->count(disk, CpuId(2)), 9U);
  EXPECT_THAT(table->rows[2].devices, ElementsAre("i801_smbus", "ehci_hcd:usb1"));
  EXPECT_THAT(table->rows[3].devices, IsEmpty());
}

TEST(Interrupts, WithANameHaveADescription) {
  const auto table = parse_interrupts(kVirtual);
  ASSERT_TRUE(table);
  const InterruptRow* timer = table->find("LOC");
  ASSERT_NE(timer, nullptr);
  EXPECT_FALSE(timer->number);
  EXPECT_EQ(timer->description, "Local timer interrupts");
  EXPECT_EQ(table->count(*timer, CpuId(0)), 85532U);
  const InterruptRow* errors = table->find("ERR");
  ASSERT_NE(errors, nullptr);
  EXPECT_EQ(table->count(*errors, CpuId(2)), 0U);
}

TEST(Interrupts, OfOtherArchitecturesAreRead) {
  const auto table = parse_interrupts(kArm);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(table->rows[0].type, "27 Level");
  EXPECT_THAT(table->rows[0].devices, ElementsAre("arch_timer"));
  EXPECT_EQ(table->rows[1].chip, "msc");
  EXPECT_THAT(table->rows[1].devices, ElementsAre("gpio  12 Edge      some button"));
  EXPECT_EQ(table->rows[2].label, "IPI0");
}

TEST(Interrupts, NeedALineOfCpus) {
  for (const std::string_view text : {"", "x", "CPU0 CPUx", "CPU5000", "CPU2 CPU0\n"}) {
    const auto table = parse_interrupts(text);
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().message, "the first line does not name CPUs");
  }
}

TEST(Softirqs, AreATableToo) {
  const auto table = parse_interrupts(
      "                    CPU0       CPU1       \n          HI:          0          1\n"
      "       TIMER:      11415       8514\n");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[1].label, "TIMER");
  EXPECT_EQ(table->count(table->rows[1], CpuId(1)), 8514U);
}

TEST(InterruptAffinitiesRead, AreThoseOfTheDirectory) {
  MadeFiles proc;
  MadeFiles sys;
  proc.write("irq/24/smp_affinity_list", "0-7\n");
  proc.write("irq/24/effective_affinity_list", "3\n");
  proc.write("irq/30/smp_affinity_list", "2\n");
  proc.write("irq/16/smp_affinity_list", "0-3\n");
  proc.write("irq/40/node", "0\n");
  proc.write("irq/default_smp_affinity", "0f,ffffffff\n");
  sys.write("kernel/debug/irq/irqs/16", "handler: x\ndstate: 0x1\n IRQD_AFFINITY_MANAGED\n");
  const auto table = parse_interrupts(kVirtual);
  ASSERT_TRUE(table);
  const auto read = read_interrupt_affinities(*table, proc.root(), sys.root());
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read.at(24).allowed.str(), "0-7");
  EXPECT_EQ(read.at(24).effective.str(), "3");
  EXPECT_EQ(read.at(24).managed, Managed::kNo);
  EXPECT_TRUE(read.at(30).effective.empty());
  EXPECT_EQ(read.at(30).managed, Managed::kByName);
  EXPECT_EQ(read.at(16).managed, Managed::kYes);
  const auto by_default = read_default_affinity(proc.root());
  ASSERT_TRUE(by_default);
  EXPECT_EQ(by_default->str(), "0-35");
}

TEST(InterruptAffinitiesRead, AreNoneWhereTheKernelHasNone) {
  MadeFiles proc;
  EXPECT_THAT(read_interrupt_affinities({}, proc.root(), proc.root()), IsEmpty());
  EXPECT_FALSE(read_default_affinity(proc.root()));
}

}  // namespace
}  // namespace corehold
