// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/realtime_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;

constexpr auto kOwn = RealtimeShare::kOwnCpus;
constexpr auto kShared = RealtimeShare::kSharedCpus;

// What the kernel does with one write: false where it refuses.
bool write(RealtimeTree& tree, const RealtimeWrite& write) {
  const std::size_t slash = write.cgroup.find('/');
  RealtimePod& pod = tree.pods.at(write.cgroup.substr(0, slash));
  (slash == std::string::npos ? pod.time : pod.containers.at(write.cgroup.substr(slash + 1)).time) =
      write.time;
  std::int64_t pods = 0;
  for (const auto& [name, here] : tree.pods) {
    std::int64_t containers = 0;
    for (const auto& [id, container] : here.containers) containers += container.time;
    if (containers > here.time) return false;
    pods += here.time;
  }
  return pods <= tree.time;
}

TEST(RealtimePlan, GivesTheOnlyContainerMostOfTheTime) {
  const RealtimeTree tree{.time = 900'000, .pods = {{"p", {.containers = {{"main", {kOwn, 0}}}}}}};
  EXPECT_THAT(plan_realtime(tree),
              ElementsAre(RealtimeWrite{"p", 850'000}, RealtimeWrite{"p/main", 850'000}));
}

TEST(RealtimePlan, TakesFromAContainerBeforeItGivesToAnother) {
  const RealtimeTree tree{
      .time = 900'000,
      .pods = {{"a", {.time = 850'000, .containers = {{"main", {kOwn, 850'000}}}}},
               {"b", {.containers = {{"main", {kOwn, 0}}}}}}};
  EXPECT_THAT(plan_realtime(tree),
              ElementsAre(RealtimeWrite{"a/main", 425'000}, RealtimeWrite{"a", 425'000},
                          RealtimeWrite{"b", 425'000}, RealtimeWrite{"b/main", 425'000}));
}

TEST(RealtimePlan, GivesContainersThatShareASmallPartAndLeavesTheOthersTheirs) {
  const RealtimeTree tree{
      .time = 900'000,
      .pods = {{"a", {.time = 850'000, .containers = {{"main", {kOwn, 850'000}}}}},
               {"b", {.containers = {{"main", {kShared, 0}}}}}}};
  EXPECT_THAT(plan_realtime(tree),
              ElementsAre(RealtimeWrite{"b", 3'120}, RealtimeWrite{"b/main", 3'120}));
}

TEST(RealtimePlan, DoesNotChangeAThousandSharersBecauseOneComesAndGoes) {
  RealtimeTree tree{.time = 900'000};
  const auto settle = [&tree] {
    const auto plan = plan_realtime(tree);
    for (const RealtimeWrite& each : plan) EXPECT_TRUE(write(tree, each)) << each.cgroup;
    return plan.size();
  };
  for (int pod = 0; pod < 1025; ++pod) {
    tree.pods[std::to_string(pod)].containers["main"] = {.share = kShared};
  }
  EXPECT_EQ(settle(), 2050U);
  tree.pods.erase("7");
  EXPECT_EQ(settle(), 0U);
  tree.pods["7"].containers["main"] = {.share = kShared};
  EXPECT_EQ(settle(), 2U);
}

RC_GTEST_PROP(RealtimePlan, IsTakenByTheKernelAndLeavesNobodyWithoutTime, ()) {
  RealtimeTree tree{.time = *rc::gen::element<std::int64_t>(900'000, 450'000, 28'125)};
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const std::string pod = std::to_string(*rc::gen::inRange(0, 12));
    const std::string name = std::to_string(*rc::gen::inRange(0, 3));
    if (*rc::gen::inRange(0, 3) == 0) {
      const auto found = tree.pods.find(pod);
      if (found == tree.pods.end()) continue;
      found->second.containers.erase(name);
      if (found->second.containers.empty()) tree.pods.erase(found);
    } else {
      const auto share = *rc::gen::element(kOwn, kShared);
      tree.pods[pod].containers.try_emplace(name, RealtimeContainer{.share = share});
    }
    for (const RealtimeWrite& each : plan_realtime(tree)) {
      RC_ASSERT(each.time > 0 || each.cgroup.find('/') == std::string::npos);
      RC_ASSERT(write(tree, each));
    }
    RC_ASSERT(plan_realtime(tree).empty());
    for (const auto& [id, here] : tree.pods) {
      for (const auto& [inner, container] : here.containers) RC_ASSERT(container.time > 0);
    }
  }
}

}  // namespace
}  // namespace corehold
