// SPDX-License-Identifier: Apache-2.0
#include "discover/hwloc_source.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

// The same machine but for the numbers given to cores and L3 caches.
testing::AssertionResult same_shape(const Topology& a, const Topology& b) {
  if (a.cpus() != b.cpus())
    return testing::AssertionFailure() << a.cpus().str() << " " << b.cpus().str();
  for (const CpuPlace& place : a.places()) {
    const CpuPlace& other = b.place(place.cpu);
    if (place.socket != other.socket || place.node != other.node) {
      return testing::AssertionFailure() << "CPU " << place.cpu.value;
    }
    const Core& core = a.core(a.core_of(place.cpu));
    const Core& other_core = b.core(b.core_of(place.cpu));
    if (core.cpus != other_core.cpus ||
        a.uncore(core.uncore).cpus != b.uncore(other_core.uncore).cpus) {
      return testing::AssertionFailure() << "core or L3 of CPU " << place.cpu.value;
    }
  }
  return testing::AssertionSuccess();
}

TEST(Synthetic, AgreesWithTheMachinesOfTests) {
  const std::pair<const char*, const char*> cases[] = {
      {"2s4c2t", "package:2 numa:1 l3:1 core:4 pu:2"},
      {"2s4c2t", "pack:2 [numa] core:4 pu:2"},
      {"1s1c1t", "pu:1"},
      {"1s8c1t", "core:8 pu:1"},
      {"2s2n2l4c2t", "pack:2 numa:2 l3:2 core:4 pu:2"},
      {"2n2s2c", "numa:2 pack:2 core:2 pu:1"},
      {"8s8n8c8t", "pack:8 numa:8 core:8 pu:8"}};
  for (const auto& [shape, text] : cases) {
    const auto built = topology_from_synthetic(text);
    ASSERT_TRUE(built) << text << ": " << built.error().message;
    EXPECT_TRUE(same_shape(*built, machine(shape))) << text;
  }
}

TEST(Synthetic, TellsTheMemoryOfEveryNode) {
  const auto built = topology_from_synthetic("pack:2 [numa(memory=2GB)] core:2 pu:1");
  ASSERT_TRUE(built) << built.error().message;
  const NodeMemory expected{{"memory", 2'000'000'000}};
  EXPECT_EQ(built->memory(), (MemoryInventory{{NodeId(0), expected}, {NodeId(1), expected}}));
  const auto silent = topology_from_synthetic("pack:2 [numa] core:2 pu:1");
  ASSERT_TRUE(silent) << silent.error().message;
  EXPECT_TRUE(silent->memory().empty());
}

RC_GTEST_PROP(Synthetic, AgreesWithTheMachinesOfTestsForAnyShape, ()) {
  const int s = *rc::gen::inRange(1, 4), n = *rc::gen::inRange(1, 4), l = *rc::gen::inRange(1, 4);
  const int c = *rc::gen::inRange(1, 6), t = *rc::gen::inRange(1, 4);
  const bool far = *rc::gen::arbitrary<bool>();
  const auto built = topology_from_synthetic(fmt::format(
      "pack:{} numa:{} l3:{} core:{} pu:{}{}", s, n, l, c, t, far ? "(indexes=core:pu)" : ""));
  RC_ASSERT(built.has_value());
  const auto numbering = far ? Numbering::kThreadsFar : Numbering::kNeighbours;
  RC_ASSERT(same_shape(*built, machine(fmt::format("{}s{}n{}l{}c{}t", s, n, l, c, t), numbering)));
}

TEST(Synthetic, NumbersCoresByTheirLowestCpu) {
  const auto far = topology_from_synthetic("package:1 core:2 pu:2(indexes=core:pu)");
  ASSERT_TRUE(far);
  EXPECT_EQ(far->place(CpuId(3)).core, CoreId(1));
  const auto near = topology_from_synthetic("package:1 core:2 pu:2");
  EXPECT_EQ(near->place(CpuId(3)).core, CoreId(2));
}

TEST(Synthetic, FallsBackToTheSocketWhereThereIsNoL3) {
  const auto built = topology_from_synthetic("package:2(indexes=3,7) core:2 pu:1");
  ASSERT_TRUE(built);
  EXPECT_EQ(built->place(CpuId(0)).uncore, UncoreId(3));
  EXPECT_EQ(built->place(CpuId(3)).uncore, UncoreId(7));
  EXPECT_EQ(built->place(CpuId(3)).socket, SocketId(7));
}

TEST(Synthetic, HoldsTheLargestMachine) {
  const auto largest = topology_from_synthetic("pack:8 numa:8 l3:2 core:16 pu:2");
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->cpu_count(), 4096);
  EXPECT_EQ(largest->nodes().size(), 64U);
}

TEST(Synthetic, SaysWhatHwlocDoesNotAccept) {
  const auto none = topology_from_synthetic("bridge:2 pu:1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalid);
  EXPECT_EQ(none.error().message,
            "hwloc does not accept \"bridge:2 pu:1\"; levels go from the outside in and end "
            "with pu, as in \"package:2 numa:1 l3:2 core:4 pu:2\"");
}

TEST(Xml, RefusesGarbageOfAnySize) {
  const std::string message = "not an hwloc XML topology; `lstopo --of xml FILE` writes one";
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string(10U << 20U, '<'), std::string("<topology"),
        std::string("<topology version=\"2.0\"><object type=\"PU\""),
        std::string("<topology\0x", 11),
        std::string("<?xml version=\"1.0\"?><topology version=\"2.0\"></topology>")}) {
    const auto built = topology_from_xml(text);
    ASSERT_FALSE(built) << text.substr(0, 80);
    EXPECT_EQ(built.error().message, message) << text.substr(0, 80);
  }
}

TEST(BootCpus, AreReadAsTheKernelWritesThem) {
  EXPECT_EQ(parse_boot_cpus("2-3,7\n")->str(), "2-3,7");
  EXPECT_EQ(parse_boot_cpus("\n")->str(), "");
  EXPECT_EQ(parse_boot_cpus("          (null)\n")->str(), "");
  EXPECT_FALSE(parse_boot_cpus("2-\n"));
}

}  // namespace
}  // namespace corehold
