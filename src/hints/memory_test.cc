// SPDX-License-Identifier: Apache-2.0
#include "hints/memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hints/family.h"
#include "hints/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

// Nodes 0, 1, ... with so many Gi of memory.
MemoryBook book_of(const std::vector<int>& gi) {
  MemoryInventory inventory;
  for (std::size_t i = 0; i < gi.size(); ++i) {
    inventory[NodeId(static_cast<int>(i))]["memory"] = gi[i] * kGi;
  }
  auto book = MemoryBook::make(inventory, {});
  CHECK(book.has_value());
  return *std::move(book);
}

Pod pod_asking(std::string_view name, int gi) {
  return pod_of(name, {fmt::format("main cpu=1 memory={}Gi", gi)});
}

std::string hints_of(const MemoryBook& book, const Pod& pod) {
  return describe(book.hints(pod, pod.containers.front(), {}),
                  static_cast<int>(book.nodes().size()));
}

std::string take(MemoryBook& book, const Pod& pod, const Hint& hint = {}) {
  std::string text;
  for (const Container* container : in_starting_order(pod)) {
    const auto holding = book.allocate(pod, *container, hint, {});
    if (!holding) return holding.error().message;
    text += (text.empty() ? "" : " ") + holding->nodes.str();
  }
  return text;
}

std::string free_gi(const MemoryBook& book) {
  std::string text;
  for (const auto& [id, node] : book.nodes()) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", node.free.at("memory") / kGi);
  }
  return text;
}

TEST(MemoryBook, WithoutAnInventoryAsksAndBooksNothing) {
  MemoryBook book;
  EXPECT_FALSE(book.enabled());
  EXPECT_EQ(hints_of(book, pod_asking("p", 1)), "not asked");
  EXPECT_EQ(take(book, pod_asking("p", 1)), "");
  EXPECT_EQ(book, MemoryBook());
}

TEST(MemoryBook, SubtractsWhatIsReserved) {
  const auto book =
      MemoryBook::make({{NodeId(0), {{"memory", 10}}}}, {{NodeId(0), {{"memory", 4}}}});
  ASSERT_TRUE(book);
  EXPECT_EQ(book->nodes().at(NodeId(0)).allocatable.at("memory"), 6);
}

TEST(MemoryBook, RefusesToReserveMoreThanThereIs) {
  const auto book =
      MemoryBook::make({{NodeId(0), {{"memory", 10}}}}, {{NodeId(0), {{"memory", 11}}}});
  ASSERT_FALSE(book);
  EXPECT_EQ(book.error().message, "cannot reserve 11 bytes of memory on NUMA node 0, which has 10");
  const auto nowhere =
      MemoryBook::make({{NodeId(0), {{"memory", 10}}}}, {{NodeId(1), {{"hugepages-2Mi", 1}}}});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message,
            "cannot reserve 1 bytes of hugepages-2Mi on NUMA node 1, which has 0");
}

TEST(MemoryHints, PreferAsFewNodesAsAnIdleMachineWouldNeed) {
  EXPECT_EQ(hints_of(book_of({4, 8}), pod_asking("p", 3)), "0 1; 0-1");
  EXPECT_EQ(hints_of(book_of({4, 8}), pod_asking("p", 6)), "1; 0-1");
  EXPECT_EQ(hints_of(book_of({4, 8}), pod_asking("p", 12)), "0-1; ");
}

TEST(MemoryHints, DoNotCareWhenNothingFits) {
  EXPECT_EQ(hints_of(book_of({4, 8}), pod_asking("p", 13)), "any");
}

TEST(MemoryHints, AreOnlyForGuaranteedPodsWithoutPodLevelResources) {
  EXPECT_EQ(hints_of(book_of({4}), pod_of("p", {"main cpu=1..2 memory=1Gi"})), "not asked");
  Pod pod = pod_asking("p", 1);
  pod.resources = pod.containers.front().resources;
  EXPECT_EQ(hints_of(book_of({4}), pod), "not asked");
}

TEST(MemoryHints, KeepNodesUsedAloneOutOfGroups) {
  MemoryBook book = book_of({4, 4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 1)), "0");
  EXPECT_EQ(hints_of(book, pod_asking("b", 2)), "0 1 2 3; 1-2 1,3 2-3 1-3");
  EXPECT_EQ(hints_of(book, pod_asking("b", 6)), "1-2 1,3 2-3; 1-3");
}

TEST(MemoryHints, KeepNodesOfAGroupTogether) {
  MemoryBook book = book_of({4, 4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 6)), "0-1");
  EXPECT_EQ(hints_of(book, pod_asking("b", 1)), "2 3; 0-1 2-3");
  EXPECT_EQ(hints_of(book, pod_asking("b", 3)), "2 3; 2-3");
}

TEST(MemoryHints, OfSeveralResourcesAreThoseThatServeAll) {
  const MemoryInventory inventory{{NodeId(0), {{"memory", 8}}},
                                  {NodeId(1), {{"memory", 2}, {"hugepages-2Mi", 4}}},
                                  {NodeId(2), {{"memory", 4}, {"hugepages-2Mi", 2}}}};
  const auto book = MemoryBook::make(inventory, {});
  ASSERT_TRUE(book);
  const Pod pod = pod_of("p", {"main cpu=1 memory=4 hugepages-2Mi=4"});
  EXPECT_EQ(hints_of(*book, pod), "0-1 1-2; 0-2");
  const auto hints = book->hints(pod, pod.containers.front(), {});
  ASSERT_EQ(hints.size(), 2U);
  EXPECT_EQ(hints[0].resource, "hugepages-2Mi");
  EXPECT_EQ(hints[1].resource, "memory");
}

TEST(MemoryHints, OfAContainerThatHasItsMemoryAreWhereItIs) {
  MemoryBook book = book_of({4, 4});
  const Pod pod = pod_asking("a", 2);
  EXPECT_EQ(take(book, pod, {.nodes = nodes("1")}), "1");
  EXPECT_EQ(hints_of(book, pod), "1; ");
  EXPECT_EQ(hints_of(book, pod_asking("a", 3)), "not asked");
}

TEST(MemoryHints, OfAPodAreForItsMostDemandingMoment) {
  const MemoryBook book = book_of({4, 8});
  const Pod pod = pod_of("p", {"init:setup cpu=1 memory=5Gi", "sidecar:proxy cpu=1 memory=1Gi",
                               "init:late cpu=1 memory=5Gi", "main cpu=1 memory=2Gi"});
  EXPECT_EQ(memory_request(pod, {})->at("memory"), 6 * kGi);
  const auto hints = book.pod_hints(pod, {});
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_EQ(preference_for(*hints[0].family, nodes("1")), true);
  EXPECT_EQ(preference_for(*hints[0].family, nodes("0")), std::nullopt);
}

TEST(MemoryAllocate, FillsTheNodesFromTheLowestUp) {
  MemoryBook book = book_of({4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 6), {.nodes = nodes("1-2")}), "1-2");
  EXPECT_EQ(free_gi(book), "4 0 2");
  EXPECT_EQ(book.nodes().at(NodeId(2)).group, nodes("1-2"));
  book.release("a");
  EXPECT_EQ(book, book_of({4, 4, 4}));
}

TEST(MemoryAllocate, ExtendsNodesThatDoNotSuffice) {
  MemoryBook book = book_of({4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 6), {.nodes = nodes("2")}), "0,2");
}

TEST(MemoryAllocate, TakesTheLowestOfEquallyNarrowSets) {
  MemoryBook book = book_of({1, 4, 4, 6});
  EXPECT_EQ(take(book, pod_asking("a", 7)), "1-2");
}

TEST(MemoryAllocate, JoinsTheGroupOfANodeThatIsAskedForAlone) {
  MemoryBook book = book_of({4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 6)), "0-1");
  EXPECT_EQ(take(book, pod_asking("b", 1), {.nodes = nodes("1")}), "0-1");
}

TEST(MemoryAllocate, RefusesNodesOfDifferentGroups) {
  MemoryBook book = book_of({4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 1)), "0");
  const MemoryBook before = book;
  EXPECT_EQ(take(book, pod_asking("b", 1), {.nodes = nodes("0-1")}),
            "[memorymanager] preferred hint violates NUMA node allocation");
  EXPECT_EQ(book, before);
}

TEST(MemoryAllocate, SaysThatNothingFits) {
  MemoryBook book = book_of({4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 9)),
            "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
            "memory is available");
  EXPECT_EQ(take(book, pod_asking("a", 9), {.nodes = nodes("0-1"), .preferred = true}),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
}

TEST(MemoryAllocate, KeepsToAPreferenceThatWasAsked) {
  MemoryBook book = book_of({4, 4, 4});
  EXPECT_EQ(take(book, pod_asking("a", 3)), "0");
  EXPECT_EQ(take(book, pod_asking("b", 3), {.nodes = nodes("0"), .preferred = true}),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
  EXPECT_EQ(take(book, pod_asking("b", 6)), "1-2");
  EXPECT_EQ(take(book, pod_asking("c", 2), {.nodes = {}, .preferred = true}),
            "[memorymanager] failed to find the default preferred hint");
  EXPECT_EQ(take(book, pod_asking("c", 2), {.nodes = nodes("1"), .preferred = true}),
            "[memorymanager] failed to find the extended preferred hint");
}

TEST(MemoryAllocate, RefusesAnAmountThatIsNoNumberOfBytes) {
  MemoryBook book = book_of({4});
  EXPECT_EQ(take(book, pod_of("p", {"main cpu=1 memory=1500m"})),
            "[memorymanager] failed to represent quantity as int64: 1500m of memory");
}

TEST(MemoryAllocate, LetsLaterContainersTakeOverFromInitContainers) {
  MemoryBook book = book_of({8});
  const Pod pod = pod_of("p", {"init:setup cpu=1 memory=6Gi", "sidecar:proxy cpu=1 memory=2Gi",
                               "init:late cpu=1 memory=3Gi", "main cpu=1 memory=5Gi"});
  EXPECT_EQ(take(book, pod), "0 0 0 0");
  EXPECT_EQ(free_gi(book), "1");
  EXPECT_EQ(book.find("p", "setup")->bytes.at("memory"), 0);
  EXPECT_EQ(book.find("p", "main")->bytes.at("memory"), 5 * kGi);
  book.settle();
  const MemoryBook before = book;
  EXPECT_EQ(take(book, pod), "0 0 0 0");
  book.settle();
  EXPECT_EQ(book, before);
  book.release("p");
  EXPECT_EQ(book, book_of({8}));
}

TEST(MemoryAllocate, DoesNotHandMemoryToAnotherPod) {
  MemoryBook book = book_of({8});
  EXPECT_EQ(take(book, pod_of("p", {"init:setup cpu=1 memory=6Gi", "main cpu=1 memory=1Gi"})),
            "0 0");
  EXPECT_EQ(take(book, pod_asking("q", 2)), "0");
  EXPECT_EQ(free_gi(book), "0");
  EXPECT_NE(take(book, pod_asking("r", 1)), "0");
}

TEST(MemoryRestore, BooksWhatAContainerHeldBeforeARestart) {
  MemoryBook book = book_of({8, 8});
  const Pod pod = pod_of("p", {"init:setup cpu=1 memory=10Gi", "main cpu=1 memory=9Gi"});
  EXPECT_EQ(take(book, pod), "0-1 0-1");
  book.settle();
  MemoryBook again = book_of({8, 8});
  for (const auto& [container, holding] : book.pods().at("p")) {
    ASSERT_TRUE(again.restore("p", container, holding));
    ASSERT_TRUE(again.restore("p", container, holding));
  }
  EXPECT_EQ(again, book);
  again.release("p");
  EXPECT_EQ(again, book_of({8, 8}));
}

TEST(MemoryRestore, RefusesANodeThatIsNotThere) {
  MemoryBook book = book_of({8});
  const auto restored =
      book.restore("p", "main", {.nodes = nodes("0-1"), .bytes = {{"memory", kGi}}});
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message, "it holds memory of NUMA node 1, which is not there");
  EXPECT_EQ(book, book_of({8}));
}

}  // namespace
}  // namespace corehold
