// SPDX-License-Identifier: Apache-2.0
//
// Containers of one pod: their order, what becomes of them when they end, stopping them.
#include "manager/running/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/record_json.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class LifecycleTest : public testing::Test {
 protected:
  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};

  static Pod shared(const std::string& name, const std::string& policy = "Always") {
    Pod pod = pod_of(name, {"main cpu=100m..2"});
    pod.restart_policy = policy;
    return pod;
  }
  std::vector<std::string> restart(const std::string& uid) {
    return node_.run(TimerFired{{TimerKey::Kind::kRestart, {uid, "main"}}});
  }
  // The starts of the first step that starts containers of a new pod.
  std::vector<StartContainer> first_starts(const Pod& pod) {
    NodeState state = node_.node();
    std::vector<StartContainer> starts;
    std::vector<Command> open{CreatePod{.pod = pod}};
    for (std::size_t next = 0; next < open.size() && starts.empty(); ++next) {
      Outcome outcome = step(node_.rules(), std::move(state), Command(open[next]), node_.time());
      state = std::move(outcome.node);
      for (const Effect& effect : outcome.effects) {
        if (const auto* start = std::get_if<StartContainer>(&effect)) starts.push_back(*start);
        if (std::holds_alternative<SavePod>(effect)) open.emplace_back(PodSaved{.uid = pod.uid});
        if (const auto* save = std::get_if<PersistCheckpoint>(&effect)) {
          open.emplace_back(CheckpointSaved{.revision = save->revision});
        }
        if (const auto* share = std::get_if<SetSharedCpus>(&effect)) {
          open.emplace_back(SharedCpusApplied{.cpus = share->cpus});
        }
        if (std::holds_alternative<WritePodInfo>(effect)) {
          open.emplace_back(PodInfoWritten{.uid = pod.uid});
        }
      }
    }
    return starts;
  }
};

TEST_F(LifecycleTest, InitContainersRunOneAfterTheOtherSidecarsStay) {
  Pod pod = pod_of("app", {"init:first cpu=1", "sidecar:proxy cpu=1", "init:second cpu=1",
                           "main cpu=1", "beside cpu=1"});
  EXPECT_THAT(node_.create(pod), ElementsAre("save app", "reply 1", "podinfo app", "save app",
                                             "share 0-7", "start app/first#0 on 0-7", "save app"));
  EXPECT_EQ(phase_of(node_.pod("app")), "Pending");
  EXPECT_THAT(node_.exit("app", "first", 0),
              ElementsAre("save app", "start app/proxy#0 on 0-7", "remove app/first", "save app",
                          "start app/second#0 on 0-7", "save app"));
  EXPECT_THAT(node_.exit("app", "second", 0),
              ElementsAre("save app", "start app/main#0 on 0-7", "start app/beside#0 on 0-7",
                          "remove app/second", "save app", "save app"));
  EXPECT_EQ(phase_of(node_.pod("app")), "Running");
}

TEST_F(LifecycleTest, CpusOfAnInitContainerGoBackAsFarAsNobodyElseOfThePodHasThem) {
  node_.create(pod_of("db", {"init:setup cpu=4 memory=1Gi", "main cpu=2 memory=1Gi"}));
  EXPECT_EQ(node_.assigned("db", "setup"), cpus("2-5"));
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  EXPECT_THAT(node_.exit("db", "setup", 0),
              ElementsAre("save db", "persist shared 0-1,4-7 db/main 2-3", "start db/main#0 on 2-3",
                          "remove db/setup", "save db"));
}

TEST_F(LifecycleTest, AnInitContainerThatFailsForGoodFailsThePod) {
  Pod pod = pod_of("app", {"sidecar:proxy cpu=1", "init:setup cpu=1", "main cpu=1"});
  pod.restart_policy = "Never";
  node_.create(pod);
  EXPECT_THAT(node_.exit("app", "setup", 3),
              ElementsAre("save app", "stop app/proxy 30s", "remove app/setup"));
  node_.exit("app", "proxy", 0);
  EXPECT_EQ(phase_of(node_.pod("app")), "Failed");
}

TEST_F(LifecycleTest, AnExitIsOnRecordBeforeTheContainerRunsAgain) {
  node_.create(shared("web"));
  EXPECT_THAT(node_.send(ContainerExited{.container = {"web", "main"}, .exit = {.code = 1}}),
              ElementsAre("save web"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "web"}), ElementsAre("start web/main#1 on 0-7"));
}

TEST_F(LifecycleTest, RestartsAtOnceThenAfterTenSecondsDoublingToFiveMinutes) {
  node_.create(shared("web"));
  EXPECT_THAT(node_.exit("web", "main", 1),
              ElementsAre("save web", "start web/main#1 on 0-7", "save web"));
  for (const char* delay : {"10", "20", "40", "80", "160", "300", "300"}) {
    EXPECT_THAT(node_.exit("web", "main", 1),
                ElementsAre(std::string("timer restart web/main ") + delay + "s", "save web"));
    EXPECT_THAT(restart("web"), ElementsAre(HasSubstr("start web/main#"), "save web"));
  }
  node_.wait(minutes(10));
  EXPECT_THAT(node_.exit("web", "main", 1),
              ElementsAre("save web", "start web/main#9 on 0-7", "save web"));
}

TEST_F(LifecycleTest, RestartPoliciesDecideByTheExitCode) {
  node_.create(shared("always", "Always"));
  node_.create(shared("failure", "OnFailure"));
  node_.create(shared("never", "Never"));
  for (const char* uid : {"always", "failure", "never"}) node_.exit(uid, "main", 0);
  EXPECT_EQ(phase_of(node_.pod("always")), "Running");
  EXPECT_EQ(phase_of(node_.pod("failure")), "Succeeded");
  EXPECT_EQ(phase_of(node_.pod("never")), "Succeeded");
  node_.create(shared("failing", "OnFailure"));
  node_.create(shared("failed", "Never"));
  for (const char* uid : {"failing", "failed"}) node_.exit(uid, "main", 1);
  EXPECT_EQ(phase_of(node_.pod("failing")), "Running");
  EXPECT_EQ(phase_of(node_.pod("failed")), "Failed");
}

TEST_F(LifecycleTest, AContainersOwnRestartPolicyCountsMoreThanThePods) {
  Pod pod = shared("web", "Always");
  pod.containers.front().restart_policy = "Never";
  node_.create(pod);
  node_.exit("web", "main", 1);
  EXPECT_EQ(phase_of(node_.pod("web")), "Failed");
}

TEST_F(LifecycleTest, AStartThatFailsCountsAsARunThatFailed) {
  node_.send(CreatePod{.pod = shared("web")});
  node_.send(PodSaved{.uid = "web"});
  node_.send(PodInfoWritten{.uid = "web"});
  node_.send(PodSaved{.uid = "web"});
  EXPECT_THAT(node_.send(SharedCpusApplied{cpus("0-7")}), ElementsAre("start web/main#0 on 0-7"));
  EXPECT_THAT(node_.run(StartFailed{.container = {"web", "main"}, .error = {Code::kIo, "no"}}),
              ElementsAre("save web", "start web/main#1 on 0-7", "save web"));
  EXPECT_THAT(node_.take_events(), testing::Contains("FailedStart web/main"));
  EXPECT_EQ(node_.pod("web").record.containers.at("main").last_exit->cause, ExitCause::kNotStarted);
}

TEST_F(LifecycleTest, ALateReportOfAnEarlierRunChangesNothing) {
  node_.create(shared("web"));
  node_.exit("web", "main", 1);
  EXPECT_THAT(node_.send(ContainerExited{.container = {"web", "main"}, .attempt = 0}), IsEmpty());
  EXPECT_THAT(node_.send(ContainerStarted{.container = {"web", "main"}, .attempt = 0}), IsEmpty());
  EXPECT_EQ(node_.pod("web").containers.at("main").stage, Stage::kRunning);
}

TEST_F(LifecycleTest, AppsStopFirstThenSidecarsFromTheLastToTheFirst) {
  node_.create(pod_of("app", {"sidecar:log cpu=1", "sidecar:proxy cpu=1", "main cpu=1"}));
  EXPECT_THAT(node_.run(DeletePod{.uid = "app"}), ElementsAre("save app", "stop app/main 30s"));
  EXPECT_THAT(node_.exit("app", "main", 0),
              ElementsAre("save app", "stop app/proxy 30s", "remove app/main"));
  EXPECT_THAT(node_.exit("app", "proxy", 0),
              ElementsAre("save app", "stop app/log 30s", "remove app/proxy"));
  EXPECT_THAT(node_.exit("app", "log", 0),
              ElementsAre("save app", "remove app/log", "remove-files app", "forget app"));
}

TEST_F(LifecycleTest, DeletingAgainWithAShorterGraceKillsSooner) {
  node_.create(shared("web"));
  node_.run(DeletePod{.uid = "web", .grace = seconds(60), .request = 2});
  node_.wait(seconds(3));
  EXPECT_THAT(node_.run(DeletePod{.uid = "web", .grace = seconds(5), .request = 3}),
              ElementsAre("save web", "reply 3", "stop web/main 2s"));
  EXPECT_THAT(node_.send(DeletePod{.uid = "web", .grace = seconds(90), .request = 4}),
              ElementsAre("reply 4"));
  EXPECT_THAT(node_.run(DeletePod{.uid = "web", .grace = seconds(0), .request = 5}),
              ElementsAre("save web", "reply 5", "stop web/main 0s"));
}

TEST_F(LifecycleTest, ARunIsRefusedWhereNobodyHasCpusOfTheirOwn) {
  TestNode node(machine("1s4c2t"), {.reserved_count = 1}, false);
  EXPECT_THAT(node.send(CreatePod{.pod = shared("job"), .source = Source::kRun, .request = 4}),
              ElementsAre(HasSubstr("reply 4")));
  EXPECT_TRUE(node.node().running.pods.empty());
}

TEST_F(LifecycleTest, NoGraceIsTooLongToBeRecorded) {
  node_.create(shared("web"));
  node_.run(DeletePod{.uid = "web", .grace = std::chrono::seconds::max()});
  const PodRecord& record = node_.node().running.pods.at("web").record;
  EXPECT_EQ(record.grace, kMostGrace);
  EXPECT_TRUE(read_record(write_record(record)));
}

TEST_F(LifecycleTest, GraceIsThePodsOwnUnlessSaidOtherwise) {
  Pod pod = shared("web");
  pod.raw.edit()["spec"] = {{"terminationGracePeriodSeconds", 7}};
  node_.create(pod);
  EXPECT_THAT(node_.run(DeletePod{.uid = "web"}), ElementsAre("save web", "stop web/main 7s"));
}

TEST_F(LifecycleTest, SharesFollowRequestsAndQuotaOnlyLimitsThoseThatShare) {
  const auto start_of = [&](const Pod& pod) { return first_starts(pod).at(0); };
  const StartContainer shared_one = start_of(pod_of("a", {"main cpu=500m..1500m"}));
  EXPECT_EQ(shared_one.placement.limits.cpu_shares, 512);
  EXPECT_EQ(shared_one.placement.limits.quota, 1500);
  EXPECT_EQ(shared_one.placement.owner, CpuOwner::kSharedPool);
  const StartContainer exclusive = start_of(pod_of("b", {"main cpu=2 memory=1Gi"}));
  EXPECT_EQ(exclusive.placement.limits.cpu_shares, 2048);
  EXPECT_EQ(exclusive.placement.limits.quota, 0);
  EXPECT_EQ(exclusive.placement.owner, CpuOwner::kContainer);
  const StartContainer idle = start_of(pod_of("c", {"main memory=1Gi"}));
  EXPECT_EQ(idle.placement.limits.cpu_shares, 2);
  EXPECT_EQ(idle.placement.limits.quota, 0);
}

// The runtime keeps the pod of each container: a copy for each would be the square of their number.
TEST_F(LifecycleTest, ContainersThatStartTogetherShareOneCopyOfTheirPod) {
  const std::vector<StartContainer> starts =
      first_starts(pod_of("a", {"one cpu=100m..2", "two cpu=100m..2"}));
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_NE(starts[0].pod, nullptr);
  EXPECT_EQ(starts[0].pod, starts[1].pod);
}

TEST_F(LifecycleTest, TheLifeOfAnExclusivePodSyncsTwoRecordsAndTwoCheckpoints) {
  node_.take_syncs();
  node_.create(pod_of("db", {"main cpu=2 memory=1Gi"}));
  EXPECT_EQ(node_.pod("db").containers.at("main").stage, Stage::kRunning);
  EXPECT_EQ(node_.take_syncs(), 1 + 2);  // the pod, its CPUs
  node_.run(DeletePod{.uid = "db", .request = 2});
  EXPECT_EQ(node_.take_syncs(), 1);  // the deletion
  node_.exit("db", "main", 143);
  EXPECT_FALSE(node_.node().running.pods.contains("db"));
  EXPECT_EQ(node_.take_syncs(), 2);  // the CPUs are free
}

TEST_F(LifecycleTest, ARestartSyncsNothingAndAnEndForGoodDoes) {
  node_.create(shared("web"));
  node_.take_syncs();
  node_.exit("web", "main", 1);
  EXPECT_EQ(node_.pod("web").record.containers.at("main").exits, 1);
  EXPECT_EQ(node_.take_syncs(), 0);
  node_.create(shared("job", "Never"));
  // The pod, and that its container has run: it must not run twice.
  EXPECT_EQ(node_.take_syncs(), 2);
  node_.exit("job", "main", 0);
  EXPECT_EQ(node_.take_syncs(), 1);
}

TEST_F(LifecycleTest, AnEndSyncsIfRecoveryWouldDecideOtherwiseWithoutIt) {
  Pod pod = shared("job", "OnFailure");
  node_.create(pod);
  node_.take_syncs();
  node_.exit("job", "main", 1);
  EXPECT_EQ(node_.take_syncs(), 0);
  node_.exit("job", "main", 0);
  EXPECT_EQ(node_.take_syncs(), 1);
}

TEST(PolicyNone, CpusetsAreNeverTouched) {
  TestNode node(machine("1s4c2t"), {.reserved_count = 1}, false);
  EXPECT_THAT(
      node.create(pod_of("db", {"main cpu=2 memory=1Gi"})),
      ElementsAre("save db", "reply 1", "podinfo db", "save db", "start db/main#0 on ", "save db"));
  node.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  SeenContainer seen{.container = {"db", "main"}, .running = true, .cpus = cpus("3")};
  EXPECT_THAT(node.run(Observed{.seen = {seen}, .online = cpus("0-6")}),
              ElementsAre("timer reconcile 10s"));
}

}  // namespace
}  // namespace corehold
