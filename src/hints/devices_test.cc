// SPDX-License-Identifier: Apache-2.0
#include "hints/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "hints/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr const char* kNic = "example.com/nic";

// Devices a, b, c, ... near these nodes each.
DeviceBook book_of(const std::vector<std::string>& near) {
  DeviceInventory inventory;
  for (std::size_t i = 0; i < near.size(); ++i) {
    inventory[kNic].push_back(
        {.id = std::string(1, static_cast<char>('a' + i)), .nodes = nodes(near[i])});
  }
  auto book = DeviceBook::make(inventory);
  CHECK(book.has_value());
  return *std::move(book);
}

Pod pod_asking(std::string_view name, int count) {
  return pod_of(name, {fmt::format("main cpu=1 example.com/nic={}", count)});
}

std::string hints_of(const DeviceBook& book, const Pod& pod, std::string_view machine = "0-1") {
  const NodeSet all = nodes(machine);
  return describe(book.hints(all, pod, pod.containers.front()), all.size());
}

std::string take(DeviceBook& book, const Pod& pod, const std::optional<NodeSet>& affinity = {}) {
  std::string text;
  for (const Container* container : in_starting_order(pod)) {
    const auto holding = book.allocate(pod, *container, affinity);
    if (!holding) return holding.error().message;
    if (!text.empty()) text += ' ';
    if (holding->contains(kNic)) text += fmt::format("{}", fmt::join(holding->at(kNic), ""));
  }
  return text;
}

TEST(DeviceBook, RefusesADeviceListedTwice) {
  const auto book = DeviceBook::make({{kNic, {{.id = "a"}, {.id = "a"}}}});
  ASSERT_FALSE(book);
  EXPECT_EQ(book.error().message, "example.com/nic has device \"a\" twice");
}

TEST(DeviceHints, PreferAsFewNodesAsAllDevicesWouldNeed) {
  EXPECT_EQ(hints_of(book_of({"0", "0", "1"}), pod_asking("p", 1)), "0 1; 0-1");
  EXPECT_EQ(hints_of(book_of({"0", "0", "1"}), pod_asking("p", 2)), "0; 0-1");
  EXPECT_EQ(hints_of(book_of({"0", "0", "1"}), pod_asking("p", 3)), "0-1; ");
}

TEST(DeviceHints, CountADeviceForEachOfItsNodes) {
  EXPECT_EQ(hints_of(book_of({"0-1", "1"}), pod_asking("p", 2)), "1; 0-1");
  EXPECT_EQ(hints_of(book_of({"0-1", "5"}), pod_asking("p", 1)), "0 1; 0-1");
}

TEST(DeviceHints, AreNotPreferredWhereOnlyMoreNodesAreLeft) {
  DeviceBook book = book_of({"0", "0", "1", "1"});
  EXPECT_EQ(take(book, pod_asking("a", 1), nodes("0")), "a");
  EXPECT_EQ(take(book, pod_asking("b", 1), nodes("1")), "c");
  EXPECT_EQ(hints_of(book, pod_asking("c", 2)), "; 0-1");
}

TEST(DeviceHints, DoNotCareWhereTheNodesAreUnknown) {
  EXPECT_EQ(hints_of(book_of({"", ""}), pod_asking("p", 1)), "any");
}

TEST(DeviceHints, NeverCountADeviceWithoutNodes) {
  EXPECT_EQ(hints_of(book_of({"0", ""}), pod_asking("p", 2)), "; ");
}

TEST(DeviceHints, AreNoneWhenTooFewAreLeft) {
  EXPECT_EQ(hints_of(book_of({"0", "1"}), pod_asking("p", 3)), "; ");
}

TEST(DeviceHints, OfNothingAskedAreNotAsked) {
  EXPECT_EQ(hints_of(book_of({"0"}), pod_asking("p", 0)), "not asked");
  EXPECT_EQ(hints_of(book_of({"0"}), pod_of("p", {"main cpu=1"})), "not asked");
  DeviceBook book = book_of({"0"});
  EXPECT_EQ(take(book, pod_asking("p", 0)), "");
  EXPECT_EQ(book, book_of({"0"}));
}

TEST(DeviceHints, OfAContainerThatHasItsDevicesAreWhereTheyAre) {
  DeviceBook book = book_of({"0", "1"});
  EXPECT_EQ(take(book, pod_asking("p", 1), nodes("1")), "b");
  EXPECT_EQ(hints_of(book, pod_asking("p", 1)), "1; 0-1");
  EXPECT_EQ(hints_of(book, pod_asking("p", 2)), "; ");
}

TEST(DeviceHints, NeedAllDevicesLeftByInitContainers) {
  DeviceBook book = book_of({"0", "1", "1", "2"});
  const Pod pod =
      pod_of("p", {"init:setup cpu=1 example.com/nic=1", "main example.com/nic=2 cpu=1"});
  ASSERT_TRUE(book.allocate(pod, pod.init_containers.front(), nodes("0")));
  EXPECT_EQ(hints_of(book, pod, "0-2"), "; 0-1 0,2 0-2");
}

TEST(DeviceHints, OfAPodAreForItsMostDemandingMoment) {
  const DeviceBook book = book_of({"0", "0", "0", "1"});
  const Pod pod = pod_of("p", {"init:setup cpu=1 example.com/nic=3", "one example.com/nic=1 cpu=1",
                               "two cpu=1 example.com/nic=1"});
  EXPECT_EQ(describe(book.pod_hints(nodes("0-1"), pod), 2), "0; 0-1");
}

TEST(DeviceAllocate, TakesThoseNearThenOthersThenThoseWithoutNodes) {
  DeviceBook book = book_of({"", "1", "0-1", "0"});
  EXPECT_EQ(take(book, pod_asking("a", 1), nodes("0")), "d");
  EXPECT_EQ(take(book, pod_asking("b", 1), nodes("0")), "c");
  EXPECT_EQ(take(book, pod_asking("c", 1), nodes("0")), "b");
  EXPECT_EQ(take(book, pod_asking("d", 1), nodes("0")), "a");
}

TEST(DeviceAllocate, WithoutAffinityTakesThemInOrder) {
  DeviceBook book = book_of({"1", "0", "0"});
  EXPECT_EQ(take(book, pod_asking("p", 2)), "ab");
}

TEST(DeviceAllocate, SaysHowManyAreThere) {
  DeviceBook book = book_of({"1", "0"});
  EXPECT_EQ(take(book, pod_asking("p", 1)), "a");
  const DeviceBook before = book;
  EXPECT_EQ(take(book, pod_asking("q", 2)),
            "requested number of devices unavailable for example.com/nic. Requested: 2, "
            "Available: 1");
  EXPECT_EQ(book, before);
}

TEST(DeviceAllocate, NamesAResourceNobodyHas) {
  DeviceBook book = book_of({"1"});
  EXPECT_EQ(take(book, pod_of("p", {"main cpu=1 example.com/gpu=1"})),
            "cannot allocate unregistered device example.com/gpu; list the devices of this "
            "resource under devices in CoreholdConfiguration");
  EXPECT_EQ(take(book, pod_of("p", {"main cpu=1 example.com/gpu=0 ephemeral-storage=1Gi"})), "");
}

TEST(DeviceAllocate, KeepsWhatAContainerHas) {
  DeviceBook book = book_of({"0", "1"});
  EXPECT_EQ(take(book, pod_asking("p", 1), nodes("1")), "b");
  EXPECT_EQ(take(book, pod_asking("p", 1), nodes("0")), "b");
  EXPECT_EQ(take(book, pod_asking("p", 2)),
            "pod \"p\" container \"main\" changed request for resource \"example.com/nic\" from 1 "
            "to 2");
}

TEST(DeviceAllocate, LetsLaterContainersTakeOverFromInitContainers) {
  DeviceBook book = book_of({"0", "0", "1"});
  const Pod pod =
      pod_of("p", {"init:setup cpu=1 example.com/nic=2", "sidecar:proxy cpu=1 example.com/nic=1",
                   "init:late cpu=1 example.com/nic=1", "main cpu=1 example.com/nic=2"});
  EXPECT_EQ(take(book, pod), "ab a b bc");
  EXPECT_EQ(take(book, pod_asking("q", 1)),
            "requested number of devices unavailable for example.com/nic. Requested: 1, "
            "Available: 0");
  book.release("p");
  EXPECT_EQ(book, book_of({"0", "0", "1"}));
}

TEST(DeviceRestore, GivesWhatAContainerHeldBeforeARestart) {
  DeviceBook book = book_of({"0", "0", "1"});
  ASSERT_TRUE(book.restore("p", "main", {{kNic, {"b"}}}));
  ASSERT_TRUE(book.restore("p", "main", {{kNic, {"c"}}}));
  EXPECT_EQ(take(book, pod_asking("p", 1)), "b");
  EXPECT_EQ(take(book, pod_asking("q", 2)), "ac");
}

TEST(DeviceRestore, RefusesDevicesThatAreNotThereOrSomebodyElses) {
  DeviceBook book = book_of({"0"});
  auto restored = book.restore("p", "main", {{kNic, {"z"}}});
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message,
            "it holds device \"z\" of example.com/nic, which is not there");
  ASSERT_TRUE(book.restore("p", "main", {{kNic, {"a"}}}));
  restored = book.restore("q", "main", {{kNic, {"a"}}});
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message,
            "device \"a\" of example.com/nic is held by container main of pod p too");
}

}  // namespace
}  // namespace corehold
