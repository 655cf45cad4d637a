// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of KEP-6122's test table in simulated time: 1 to 5, 8 and 9. 6 and 7 are
// about a gate of the API alone (tests of src/api). The machine checks the promises by itself
// all the time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "sim/story.h"
#include "state/checkpoint.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

// CPUs 0-9, 0-1 reserved. Pod db was given 2-3 and has grown to 2-7.
class Scenario {
 public:
  explicit Scenario(milliseconds delay, std::string own_delay = "")
      : node_(delaying_node(machine("1s5c2t"), delay)), world_(*node_.rules, node_.setup->empty) {
    Pod pod = pod_of("db", {"main cpu=2 memory=1Gi"});
    if (!own_delay.empty()) pod.annotations["corehold.dev/scale-delay"] = std::move(own_delay);
    create(pod);
    resize("db", 6);
    EXPECT_EQ(runs_on("db"), "2-7");
  }
  ~Scenario() { EXPECT_THAT(world_.breaches(), IsEmpty()); }

  World& world() { return world_; }
  ManagerRules rules() const { return *node_.rules; }
  const PlacedPod& pod(const std::string& uid) { return world_.node().placing.pods.at(uid); }

  void create(const Pod& pod) {
    world_.send(CreatePod{.pod = pod});
    EXPECT_TRUE(world_.run_lanes());
  }
  void resize(const std::string& uid, int cpus) {
    ResizePod command{.pod = wanted_pod(pod(uid))};
    for (ResourceList* list : {&command.pod.containers[0].resources.requests,
                               &command.pod.containers[0].resources.limits}) {
      list->at(std::string(kCpu)) = Quantity::of(cpus);
    }
    world_.send(command);
    EXPECT_TRUE(world_.run_lanes());
  }
  // Time passes and what is due in it happens.
  void pass(milliseconds time) {
    const SteadyTime then = world_.time().steady + time;
    while (world_.fire_next_until(then)) EXPECT_TRUE(world_.run_lanes());
    world_.wait(std::chrono::ceil<milliseconds>(then - world_.time().steady));
  }
  void restart(const ManagerRules& rules) {
    world_.crash();
    world_.boot(rules);
    EXPECT_TRUE(world_.run_lanes());
  }

  std::string file(const std::string& uid) {
    return world_.machine().podinfo().at(uid).at("main").cpus.str();
  }
  std::string runs_on(const std::string& uid) {
    return world_.machine().containers().at({uid, "main"}).cpus.str();
  }
  std::string granted(const std::string& uid) {
    return pod(uid).pod.containers[0].request(kCpu).str();
  }
  bool is_resizing(const std::string& uid) { return corehold::is_resizing(pod(uid)); }

 private:
  StoryNode node_;
  World world_;
};

class ScaleDelayOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Delays, ScaleDelayOf, testing::Values(0, 500, 5'000, 10'000));

TEST_P(ScaleDelayOf, Scenario1ValidateScaleDownDelay) {
  const milliseconds delay(GetParam());
  for (const bool is_own : {false, true}) {
    Scenario scenario(is_own ? seconds(3) : delay, is_own ? fmt::format("{}ms", GetParam()) : "");
    scenario.resize("db", 4);
    EXPECT_EQ(scenario.file("db"), "2-5");
    if (delay.count() > 0) {
      scenario.pass(delay - milliseconds(1));
      EXPECT_EQ(scenario.runs_on("db"), "2-7");
      EXPECT_EQ(scenario.world().machine().checkpoint().find({"db", "main"})->assigned.str(),
                "2-7");
      EXPECT_TRUE(scenario.is_resizing("db"));
      scenario.pass(milliseconds(1));
    }
    EXPECT_EQ(scenario.runs_on("db"), "2-5");
    EXPECT_EQ(scenario.world().machine().checkpoint().find({"db", "main"})->assigned.str(), "2-5");
    EXPECT_FALSE(scenario.is_resizing("db"));
    EXPECT_EQ(scenario.granted("db"), "4");
    EXPECT_EQ(scenario.world().machine().shrinks().delayed, delay.count() > 0 ? 1U : 0U);
  }
}

TEST(ScaleDelay, Scenario2ResourceAllocationBlocking) {
  Scenario scenario(seconds(5));
  scenario.create(pod_of("mq", {"main cpu=2 memory=1Gi"}));
  ASSERT_EQ(scenario.runs_on("mq"), "8-9");
  scenario.resize("db", 4);
  scenario.resize("mq", 4);
  EXPECT_EQ(scenario.pod("mq").resize.verdict, ResizeVerdict::kDeferred);
  EXPECT_THAT(scenario.pod("mq").resize.message, HasSubstr("default/db"));
  scenario.pass(milliseconds(4999));
  EXPECT_EQ(scenario.runs_on("mq"), "8-9");
  scenario.pass(milliseconds(1));
  EXPECT_EQ(scenario.runs_on("db"), "2-5");
  EXPECT_EQ(scenario.runs_on("mq"), "6-9");
  EXPECT_EQ(scenario.file("mq"), "6-9");
}

TEST(ScaleDelay, Scenario3ValidateScaleUpBeforeTimerExpiry) {
  for (const int cpus : {6, 8}) {
    Scenario scenario(seconds(5));
    scenario.resize("db", 4);
    scenario.pass(seconds(4));
    scenario.resize("db", cpus);
    const std::string all = cpus == 6 ? "2-7" : "2-9";
    EXPECT_EQ(scenario.file("db"), all);
    EXPECT_EQ(scenario.runs_on("db"), all);
    EXPECT_FALSE(scenario.is_resizing("db"));
    scenario.pass(hours(1));
    EXPECT_EQ(scenario.runs_on("db"), all);
    EXPECT_EQ(scenario.granted("db"), fmt::to_string(cpus));
    EXPECT_EQ(scenario.world().machine().shrinks().all, 0U);
  }
}

TEST(ScaleDelay, Scenario4ValidateRepeatedScaleDownBeforeTimerExpiry) {
  // Smaller still, and larger again than the first time but smaller than it is.
  for (const int cpus : {2, 5}) {
    Scenario scenario(seconds(5));
    scenario.resize("db", 4);
    scenario.pass(seconds(4));
    scenario.resize("db", cpus);
    const std::string kept = cpus == 2 ? "2-3" : "2-6";
    EXPECT_EQ(scenario.file("db"), kept);
    scenario.pass(milliseconds(4999));
    EXPECT_EQ(scenario.runs_on("db"), "2-7");
    scenario.pass(milliseconds(1));
    EXPECT_EQ(scenario.runs_on("db"), kept);
    EXPECT_EQ(scenario.granted("db"), fmt::to_string(cpus));
    EXPECT_EQ(scenario.world().machine().shrinks().all, 1U);
  }
}

TEST(ScaleDelay, Scenario5ValidateRestartBeforeTimerExpiry) {
  Scenario scenario(seconds(5));
  const ManagerRules rules = scenario.rules();
  scenario.resize("db", 4);
  for (int life = 0; life < 2; ++life) {
    scenario.pass(milliseconds(4900));
    EXPECT_EQ(scenario.runs_on("db"), "2-7");
    scenario.restart(rules);
    EXPECT_EQ(scenario.file("db"), "2-5");
  }
  scenario.pass(milliseconds(4999));
  EXPECT_EQ(scenario.runs_on("db"), "2-7");
  scenario.pass(milliseconds(1));
  EXPECT_EQ(scenario.runs_on("db"), "2-5");
  EXPECT_FALSE(scenario.is_resizing("db"));
}

TEST(ScaleDelay, TheWallClockMayBePutAnywhere) {
  for (const int jump : {-100'000, -1, 1, 100'000}) {
    Scenario scenario(seconds(5));
    scenario.resize("db", 4);
    scenario.world().put_clock(hours(jump));
    scenario.pass(milliseconds(4999));
    EXPECT_EQ(scenario.runs_on("db"), "2-7");
    scenario.pass(milliseconds(1));
    EXPECT_EQ(scenario.runs_on("db"), "2-5");
  }
}

// What an older agent or kubelet is: the gate is off and there is no delay.
ManagerRules without_the_feature(ManagerRules rules) {
  rules.resize.exclusive_cpus = false;
  rules.scale_delay = {};
  return rules;
}

TEST(ScaleDelay, Scenario8VersionRollback) {
  Scenario scenario(seconds(5));
  const ManagerRules with = scenario.rules();
  const ManagerRules without = without_the_feature(with);
  scenario.resize("db", 4);
  ASSERT_EQ(scenario.file("db"), "2-5");
  scenario.restart(without);
  scenario.pass(hours(1));
  // Refused, nothing has moved, and it is allocated what it holds.
  EXPECT_EQ(scenario.pod("db").resize.verdict, ResizeVerdict::kInfeasible);
  EXPECT_THAT(scenario.pod("db").resize.message,
              HasSubstr("InPlacePodVerticalScalingExclusiveCPUs"));
  EXPECT_FALSE(scenario.is_resizing("db"));
  EXPECT_EQ(scenario.runs_on("db"), "2-7");
  EXPECT_EQ(scenario.file("db"), "2-7");
  EXPECT_EQ(scenario.granted("db"), "6");
  EXPECT_EQ(scenario.world().machine().shrinks().all, 0U);
  const State& checkpoint = scenario.world().machine().checkpoint();
  EXPECT_EQ(checkpoint.find({"db", "main"})->promised.str(), "2-3");
  // What an older kubelet reads.
  const std::string bytes = encode_checkpoint(checkpoint, {.version = CheckpointVersion::kV2});
  const auto old = decode_checkpoint_as(bytes, CheckpointVersion::kV2);
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->entries.at("db").at("main"), "2-7");
  EXPECT_EQ(old->default_set, "0-1,8-9");
  // Back again, the wish is granted, with the whole delay.
  scenario.restart(with);
  EXPECT_EQ(scenario.file("db"), "2-5");
  scenario.pass(milliseconds(4999));
  EXPECT_EQ(scenario.runs_on("db"), "2-7");
  scenario.pass(milliseconds(1));
  EXPECT_EQ(scenario.runs_on("db"), "2-5");
  EXPECT_FALSE(scenario.pod("db").resize.wish.has_value());
}

TEST(ScaleDelay, Scenario9VersionRollout) {
  StoryNode node = delaying_node(machine("1s5c2t"), seconds(5));
  const ManagerRules with = *node.rules;
  const ManagerRules without = without_the_feature(with);
  World world(without, node.setup->empty);
  world.send(CreatePod{.pod = pod_of("db", {"main cpu=2 memory=1Gi"})});
  ASSERT_TRUE(world.settle());
  world.crash();
  world.boot(with);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(phase_of(world.node().running.pods.at("db")), "Running");
  const auto resize = [&](int cpus) {
    ResizePod command{.pod = wanted_pod(world.node().running.pods.at("db").record)};
    for (ResourceList* list : {&command.pod.containers[0].resources.requests,
                               &command.pod.containers[0].resources.limits}) {
      list->at(std::string(kCpu)) = Quantity::of(cpus);
    }
    world.send(command);
  };
  resize(6);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.machine().containers().at({"db", "main"}).cpus.str(), "2-7");
  resize(4);
  ASSERT_TRUE(world.run_lanes());
  EXPECT_EQ(world.machine().podinfo().at("db").at("main").cpus.str(), "2-5");
  EXPECT_EQ(world.machine().containers().at({"db", "main"}).cpus.str(), "2-7");
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.machine().containers().at({"db", "main"}).cpus.str(), "2-5");
  EXPECT_EQ(world.machine().shrinks().delayed, 1U);
  EXPECT_EQ(world.machine().starts(), 1U);
  EXPECT_THAT(world.breaches(), IsEmpty());
}

}  // namespace
}  // namespace corehold
