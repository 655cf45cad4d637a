// SPDX-License-Identifier: Apache-2.0
#include "alloc/numa_split.h"

#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

using Shares = std::vector<SplitShare>;

std::vector<SplitNode> nodes(const std::vector<int>& free) {
  std::vector<SplitNode> list;
  list.reserve(free.size());
  for (const int count : free) list.push_back({.free = count, .socket = 0});
  return list;
}

TEST(NumaSplit, UsesOneNodeWhenOneIsEnough) {
  EXPECT_EQ(*split_over_nodes(nodes({8, 8}), {.count = 6, .fewest = 1, .most = 2}),
            (Shares{{.node = 0, .even = 6}}));
}

TEST(NumaSplit, TakesFromTheFullerNodeWhenThatEvensThem) {
  EXPECT_EQ(*split_over_nodes(nodes({4, 8}), {.count = 3, .fewest = 1, .most = 2}),
            (Shares{{.node = 1, .even = 3}}));
}

TEST(NumaSplit, GivesTheOddCpuToTheFullerNode) {
  EXPECT_EQ(*split_over_nodes(nodes({8, 9}), {.count = 11, .fewest = 2, .most = 2}),
            (Shares{{.node = 0, .even = 5}, {.node = 1, .even = 5, .extra_groups = 1}}));
}

TEST(NumaSplit, KeepsGroupsWhole) {
  EXPECT_EQ(
      *split_over_nodes(nodes({8, 8}), {.count = 10, .group_size = 2, .fewest = 2, .most = 2}),
      (Shares{{.node = 0, .even = 4, .extra_groups = 1}, {.node = 1, .even = 4}}));
}

TEST(NumaSplit, PrefersNodesOfOneSocket) {
  const std::vector<SplitNode> four{{.free = 8, .socket = 0},
                                    {.free = 4, .socket = 0},
                                    {.free = 8, .socket = 1},
                                    {.free = 8, .socket = 1}};
  const auto shares =
      split_over_nodes(four, {.count = 12, .fewest = 2, .most = 4, .align_by_socket = true});
  ASSERT_TRUE(shares);
  EXPECT_EQ(four[static_cast<std::size_t>(shares->front().node)].socket,
            four[static_cast<std::size_t>(shares->back().node)].socket);
}

TEST(NumaSplit, PrefersNodesOfOneSocketAmongMany) {
  // More nodes than are weighed: 20 of them, ten a socket.
  std::vector<SplitNode> many;
  many.reserve(20);
  for (int i = 0; i < 20; ++i) many.push_back({.free = 8, .socket = i / 10});
  const SplitRequest request{.count = 80, .fewest = 10, .most = 20, .align_by_socket = true};
  const auto shares = split_over_nodes(many, request);
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->size(), 10U);
  for (const SplitShare& share : *shares) {
    EXPECT_EQ(many[static_cast<std::size_t>(share.node)].socket, 0);
  }
}

TEST(NumaSplit, GivesUpWeighingBeforeItTakesLong) {
  std::vector<SplitNode> uneven;
  for (const int free : {52, 45, 3, 1, 14, 2, 58, 2, 3, 60, 11, 36, 17, 43, 1142, 1143}) {
    uneven.push_back({.free = free, .socket = static_cast<int>(uneven.size())});
  }
  const auto shares =
      split_over_nodes(uneven, {.count = 2202, .fewest = 9, .most = 16, .align_by_socket = true});
  ASSERT_TRUE(shares);
  int sum = 0;
  for (const SplitShare& share : *shares) sum += share.even + share.extra_groups;
  EXPECT_EQ(sum, 2202);
}

TEST(NumaSplit, SaysWhenNothingFitsEvenly) {
  EXPECT_FALSE(split_over_nodes(nodes({1, 8}), {.count = 9, .fewest = 2, .most = 2}));
}

// Whatever the number of nodes, the shares add up and nobody gives more than it has.
RC_GTEST_PROP(NumaSplitProperty, SharesAddUpAndFit, ()) {
  const auto draw = [](int low, int high) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
  };
  const int number = draw(1, 24);
  const int group = draw(1, 3);
  std::vector<SplitNode> list;
  int groups = 0;
  for (int i = 0; i < number; ++i) {
    list.push_back({.free = draw(1, 20), .socket = draw(0, 2)});
    groups += list.back().free / group;
  }
  RC_PRE(groups > 0);
  const SplitRequest request{.count = draw(1, groups) * group,
                             .group_size = group,
                             .fewest = draw(1, number),
                             .most = number,
                             .align_by_socket = draw(0, 1) == 1};
  // The exact search is for up to 16 nodes; half of that keeps a debug build quick.
  RC_PRE(number <= 8 || number > kMaxWeighedNodes);
  const auto shares = split_over_nodes(list, request);
  if (!shares) return;
  int sum = 0;
  for (const SplitShare& share : *shares) {
    const int given = share.even + share.extra_groups * group;
    RC_ASSERT(given <= list[static_cast<std::size_t>(share.node)].free);
    RC_ASSERT(share.even == shares->front().even);
    sum += given;
  }
  RC_ASSERT(sum == request.count);
  RC_ASSERT(static_cast<int>(shares->size()) >= request.fewest);
}

}  // namespace
}  // namespace corehold
