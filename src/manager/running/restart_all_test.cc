// SPDX-License-Identifier: Apache-2.0
//
// Rules of containers about how they end (KEP-5307), and pods of which all containers start
// over (KEP-5532).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr int kAgain = 42;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class RestartAllTest : public testing::Test {
 protected:
  RestartAllTest() { node_.rules().restart_all = true; }

  // One that never restarts, but all of it when `container` ends with 42.
  static Pod pod(const std::string& name, const std::vector<std::string>& lines,
                 const std::string& container, const std::string& action = "RestartAllContainers") {
    Pod pod = pod_of(name, lines);
    pod.restart_policy = "Never";
    add_restart_rule(pod, container, kAgain, action);
    return pod;
  }
  std::vector<std::string> create_two() {
    return node_.create(pod("db", {"main cpu=2 memory=1Gi", "beside cpu=2 memory=1Gi"}, "main"));
  }
  // As after a lost checkpoint, of which only what runs was found again.
  void lose_cpus_of_setup() {
    for (State* state : {&node_.node().placing.bookings.cpus, &node_.node().placing.durable}) {
      apply(*state, Forget{{"db", "setup"}});
    }
  }
  const RestartAll& restart(const std::string& uid) { return node_.pod(uid).record.restart_all; }
  const ContainerRecord& record(const std::string& uid, const std::string& container) {
    return node_.pod(uid).record.containers.at(container);
  }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(RestartAllTest, ARuleRestartsTheContainerThatEnded) {
  node_.create(pod("web", {"main cpu=100m"}, "main", "Restart"));
  EXPECT_THAT(node_.exit("web", "main", kAgain),
              ElementsAre("save web", "start web/main#1 on 0-7", "save web"));
  EXPECT_THAT(node_.exit("web", "main", kAgain),
              ElementsAre("timer restart web/main 10s", "save web"));
  node_.run(TimerFired{{TimerKey::Kind::kRestart, {"web", "main"}}});
  node_.exit("web", "main", 1);
  EXPECT_EQ(phase_of(node_.pod("web")), "Failed");
}

TEST_F(RestartAllTest, AnInitContainerIsRestartedByARuleUnlessItSucceeds) {
  Pod made = pod("web", {"init:setup cpu=100m", "main cpu=100m"}, "setup", "Restart");
  add_restart_rule(made, "setup", 0, "Restart");
  node_.create(made);
  EXPECT_THAT(node_.exit("web", "setup", kAgain),
              ElementsAre("save web", "start web/setup#1 on 0-7", "save web"));
  EXPECT_THAT(node_.exit("web", "setup", 0), Contains("start web/main#0 on 0-7"));
}

TEST_F(RestartAllTest, TheOthersAreKilledOnceItIsOnRecordAndAllStartOnTheirCpus) {
  create_two();
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  EXPECT_EQ(node_.assigned("db", "beside"), cpus("4-5"));
  EXPECT_THAT(node_.send(ContainerExited{.container = {"db", "main"}, .exit = {.code = kAgain}}),
              ElementsAre("save db"));
  EXPECT_TRUE(restart("db").under_way);
  EXPECT_THAT(node_.run_answers(), ElementsAre("stop db/beside 0s"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
  EXPECT_THAT(node_.exit("db", "beside", 137),
              ElementsAre("save db", "save db", "start db/main#1 on 2-3",
                          "start db/beside#1 on 4-5", "save db", "save db"));
  EXPECT_FALSE(restart("db").under_way);
  EXPECT_EQ(record("db", "main").last_exit->code, kAgain);
  EXPECT_EQ(record("db", "beside").last_exit->cause, ExitCause::kRestartAll);
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
  EXPECT_THAT(node_.take_events(), Contains("Killing db/beside"));
}

TEST_F(RestartAllTest, AContainerThatRestartsAllTooOftenIsDelayedTheOthersAreNot) {
  create_two();
  for (const char* line : {"start db/main#1 on 2-3", "timer restart db/main 10s"}) {
    std::vector<std::string> lines = node_.exit("db", "main", kAgain);
    for (std::string& more : node_.exit("db", "beside", 137)) lines.push_back(std::move(more));
    EXPECT_THAT(lines, Contains(line));
  }
  EXPECT_EQ(node_.pod("db").containers.at("beside").stage, Stage::kRunning);
  EXPECT_THAT(node_.run(TimerFired{{TimerKey::Kind::kRestart, {"db", "main"}}}),
              ElementsAre("start db/main#2 on 2-3", "save db"));
}

TEST_F(RestartAllTest, InitContainersRunAgainInTheirOrderOnTheCpusThatThePodHasKeptForThem) {
  node_.create(pod(
      "db",
      {"init:setup cpu=4 memory=1Gi", "sidecar:proxy cpu=1 memory=1Gi", "main cpu=2 memory=1Gi"},
      "main"));
  const CpuSet setup = node_.assigned("db", "setup");
  EXPECT_EQ(setup.size(), 4);
  node_.exit("db", "setup", 0);
  EXPECT_EQ(node_.assigned("db", "setup"), setup);
  const CpuSet own = node_.assigned("db", "main");
  // Nobody else can have them meanwhile.
  node_.create(pod_of("other", {"main cpu=4 memory=1Gi"}));
  EXPECT_EQ(phase_of(node_.pod("other")), "Pending");
  node_.exit("db", "main", kAgain);
  EXPECT_THAT(node_.exit("db", "proxy", 137), Contains("start db/setup#1 on " + setup.str()));
  EXPECT_EQ(node_.pod("db").containers.at("proxy").stage, Stage::kIdle);
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
  // The sidecar holds up the rest as it did the first time.
  std::vector<std::string> lines = node_.send(ContainerExited{
      .container = {"db", "setup"}, .attempt = 1, .exit = {.finished_at = node_.time().wall}});
  lines = node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(lines, Contains(testing::HasSubstr("start db/proxy#1 on ")));
  EXPECT_THAT(lines, Not(Contains(testing::HasSubstr("start db/main"))));
  EXPECT_THAT(node_.run_answers(), Contains("start db/main#1 on " + own.str()));
}

TEST_F(RestartAllTest, ContainersThatHadEndedForGoodRunAgain) {
  create_two();
  node_.exit("db", "beside", 0);
  EXPECT_TRUE(record("db", "beside").ended);
  EXPECT_THAT(node_.exit("db", "main", kAgain),
              ElementsAre("save db", "save db", "start db/main#1 on 2-3",
                          "start db/beside#1 on 4-5", "save db", "save db"));
}

TEST_F(RestartAllTest, AFailedInitContainerCanStartOver) {
  node_.create(
      pod("db", {"sidecar:proxy cpu=100m", "init:setup cpu=100m", "main cpu=100m"}, "setup"));
  node_.exit("db", "setup", kAgain);
  EXPECT_THAT(node_.exit("db", "proxy", 137), Contains("start db/proxy#1 on 0-7"));
  EXPECT_EQ(node_.pod("db").containers.at("setup").stage, Stage::kRunning);
  EXPECT_EQ(phase_of(node_.pod("db")), "Pending");
  node_.exit("db", "setup", 0);
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
}

TEST_F(RestartAllTest, OneThatIsStartingIsKilledWhenItRuns) {
  Pod always = pod("web", {"main cpu=100m", "beside cpu=100m"}, "main");
  always.restart_policy = "Always";
  node_.create(always);
  node_.send(ContainerExited{.container = {"web", "beside"}, .exit = {.code = 1}});
  EXPECT_THAT(node_.send(PodSaved{.uid = "web"}), ElementsAre("start web/beside#1 on 0-7"));
  node_.send(ContainerExited{.container = {"web", "main"}, .exit = {.code = kAgain}});
  EXPECT_THAT(node_.send(PodSaved{.uid = "web"}), IsEmpty());
  EXPECT_THAT(node_.send(ContainerStarted{.container = {"web", "beside"}, .attempt = 1}),
              ElementsAre("save web"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "web"}), ElementsAre("stop web/beside 0s"));
}

TEST_F(RestartAllTest, DeletionEndsIt) {
  create_two();
  node_.exit("db", "main", kAgain);
  node_.run(DeletePod{.uid = "db", .request = 2});
  EXPECT_THAT(node_.exit("db", "beside", 137), Contains("forget db"));
  EXPECT_FALSE(node_.node().running.pods.contains("db"));
}

TEST_F(RestartAllTest, WhileThePodStopsARuleCountsNoMore) {
  create_two();
  node_.run(DeletePod{.uid = "db", .request = 2});
  node_.exit("db", "main", kAgain);
  EXPECT_FALSE(restart("db").under_way);
}

TEST_F(RestartAllTest, WithoutTheGateTheRuleIsIgnoredAndAWarningSaysSo) {
  node_.rules().restart_all = false;
  create_two();
  node_.take_events();
  EXPECT_THAT(node_.exit("db", "main", kAgain), ElementsAre("save db", "remove db/main"));
  EXPECT_TRUE(record("db", "main").ended);
  EXPECT_THAT(node_.take_events(), ElementsAre("RestartRuleIgnored db/main"));
}

TEST_F(RestartAllTest, ANewAgentGoesOnWhereTheLastOneWas) {
  create_two();
  node_.exit("db", "main", kAgain);
  // It was killed before "beside" was.
  EXPECT_THAT(node_.restart(), Contains("stop db/beside 0s"));
  EXPECT_THAT(node_.exit("db", "beside", 137), Contains("start db/main#1 on 2-3"));
  EXPECT_EQ(node_.pod("db").containers.at("beside").stage, Stage::kRunning);
}

TEST_F(RestartAllTest, AShrinkUnderWayIsDoneWhenTheyStartAgain) {
  node_.rules().scale_delay = seconds(5);
  node_.create(pod("db", {"main cpu=2 memory=1Gi", "beside cpu=2 memory=1Gi"}, "beside"));
  node_.resize("db", "4");
  const CpuSet before = node_.assigned("db", "main");
  EXPECT_EQ(before.size(), 4);
  node_.resize("db", "2");
  EXPECT_EQ(node_.assigned("db", "main"), before);
  node_.exit("db", "beside", kAgain);
  node_.exit("db", "main", 137);
  EXPECT_EQ(node_.pod("db").containers.at("main").stage, Stage::kRunning);
  node_.wait(seconds(5));
  node_.run(TimerFired{{TimerKey::Kind::kDelay, {"db", "main"}}});
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  EXPECT_EQ(node_.assigned("db", "beside"), cpus("4-5"));
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
  EXPECT_THAT(node_.take_counts(), Not(Contains("corehold_told_after_taken_total")));
}

TEST_F(RestartAllTest, AnInitContainerWithoutCpusIsGivenSomeBeforeItRunsAgain) {
  node_.create(pod("db", {"init:setup cpu=2 memory=1Gi", "main cpu=2 memory=1Gi"}, "main"));
  node_.exit("db", "setup", 0);
  lose_cpus_of_setup();
  EXPECT_THAT(node_.exit("db", "main", kAgain), Contains("start db/setup#1 on 4-5"));
  EXPECT_THAT(node_.exit("db", "setup", 0), Contains("start db/main#1 on 2-3"));
}

TEST_F(RestartAllTest, APodInItsOwnWayIsPlacedAnew) {
  node_.create(pod("db", {"init:setup cpu=4 memory=1Gi", "main cpu=4 memory=1Gi"}, "main"),
               Source::kStatic);
  node_.exit("db", "setup", 0);
  EXPECT_EQ(node_.assigned("db", "main").size(), 4);
  lose_cpus_of_setup();
  EXPECT_THAT(node_.exit("db", "main", kAgain), Contains(testing::HasSubstr("start db/setup#1")));
  EXPECT_EQ(node_.assigned("db", "setup").size(), 4);
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
}

TEST_F(RestartAllTest, ACordonDoesNotKeepAPodFromStartingOver) {
  node_.create(pod("db", {"init:setup cpu=2 memory=1Gi", "main cpu=2 memory=1Gi"}, "main"));
  node_.exit("db", "setup", 0);
  lose_cpus_of_setup();
  node_.node().placing.cordoned = true;
  EXPECT_THAT(node_.exit("db", "main", kAgain), Contains("start db/setup#1 on 4-5"));
}

}  // namespace
}  // namespace corehold
