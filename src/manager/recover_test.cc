// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a life: what was left behind, in every combination that a crash can
// leave, and what reconciling finds later on.
#include "manager/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/quiet_request.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class RecoverTest : public testing::Test {
 protected:
  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};

  static Pod exclusive(const std::string& name, int cpus = 2) {
    return pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
  }
  static Pod shared(const std::string& name) { return pod_of(name, {"main cpu=100m..2"}); }
  static PodRecord admitted(const Pod& pod, std::uint64_t sequence = 1) {
    return {.pod = pod,
            .sequence = sequence,
            .created_at = hours(1),
            .grace = seconds(30),
            .started_at = hours(1)};
  }
  static PodRecord running(const Pod& pod, std::uint64_t sequence = 1) {
    PodRecord record = admitted(pod, sequence);
    record.containers["main"] = {.started_at = hours(1)};
    return record;
  }
  static SeenContainer seen(const std::string& uid, const std::string& list) {
    return {
        .container = {uid, "main"}, .running = true, .cpus = cpus(list), .started_at = hours(1)};
  }
  State holding(const std::string& uid, const std::string& list) const {
    State state = node_.empty();
    apply(state, SetShared{state.shared - cpus(list)});
    apply(state, Assign{{uid, "main"}, cpus(list)});
    return state;
  }
  // All effects of the recovery with everything answered, but for the reconcile timer and
  // the first checkpoint, which are always there.
  std::vector<std::string> recover(const Recover& command) {
    std::vector<std::string> lines = node_.recover(command);
    EXPECT_THAT(lines, Contains("timer reconcile 10s"));
    for (std::string& line : node_.run_answers()) lines.push_back(std::move(line));
    std::erase_if(lines, [](const std::string& line) {
      return line == "timer reconcile 10s" || line.starts_with("podinfo ");
    });
    return lines;
  }
  // What a reconcile that sees this leads to.
  std::vector<std::string> observe(const std::vector<SeenContainer>& all,
                                   const std::string& online = "0-7") {
    node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
    std::vector<std::string> lines = node_.run(Observed{.seen = all, .online = cpus(online)});
    std::erase(lines, "timer reconcile 10s");
    return lines;
  }
};

TEST_F(RecoverTest, WhatRunsIsAdoptedAndLeftAlone) {
  EXPECT_THAT(recover({.pods = {running(exclusive("db")), running(shared("web"), 2)},
                       .cpus = holding("db", "2-3"),
                       .seen = {seen("db", "2-3"), seen("web", "0-1,4-7")}}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
  EXPECT_EQ(node_.node().running.next_sequence, 3);
}

TEST_F(RecoverTest, ASharedContainerThatHadNotLeftYetLeavesBeforeTheStart) {
  EXPECT_THAT(recover({.pods = {admitted(exclusive("db")), running(shared("web"), 2)},
                       .cpus = holding("db", "2-3"),
                       .seen = {seen("web", "0-7")}}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3", "share 0-1,4-7",
                          "start db/main#0 on 2-3", "save db"));
}

TEST_F(RecoverTest, NothingMovesBeforeTheCheckpointOfThisLifeIsSaved) {
  node_.recover({.pods = {admitted(exclusive("db")), running(shared("web"), 2)},
                 .cpus = holding("db", "2-3"),
                 .seen = {seen("web", "0-7")}});
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = 1}), ElementsAre("share 0-1,4-7"));
}

TEST_F(RecoverTest, AContainerThatWasStartedButNotRecordedIsAdopted) {
  EXPECT_THAT(recover({.pods = {admitted(exclusive("db"))},
                       .cpus = holding("db", "2-3"),
                       .seen = {seen("db", "2-3")}}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3", "save db"));
  EXPECT_EQ(node_.pod("db").record.containers.at("main").started_at, hours(1));
}

TEST_F(RecoverTest, AnEndThatOnlyTheRuntimeKnowsIsRecordedAndTheContainerRunsAgain) {
  SeenContainer ended = seen("db", "");
  ended.running = false;
  ended.exit = ContainerExit{.code = 5, .finished_at = hours(2)};
  EXPECT_THAT(
      recover({.pods = {running(exclusive("db"))}, .cpus = holding("db", "2-3"), .seen = {ended}}),
      ElementsAre("persist shared 0-1,4-7 db/main 2-3", "save db", "start db/main#1 on 2-3",
                  "save db"));
  EXPECT_EQ(node_.pod("db").record.containers.at("main").last_exit->code, 5);
}

TEST_F(RecoverTest, AnEndThatIsOnRecordIsNotCountedAgain) {
  PodRecord record = admitted(exclusive("db"));
  record.containers["main"] = {.attempt = 0, .exits = 1, .last_exit = ContainerExit{.code = 5}};
  SeenContainer ended = seen("db", "");
  ended.running = false;
  ended.exit = ContainerExit{.code = 5};
  EXPECT_THAT(
      recover({.pods = {record}, .cpus = holding("db", "2-3"), .seen = {ended}}),
      ElementsAre("persist shared 0-1,4-7 db/main 2-3", "start db/main#1 on 2-3", "save db"));
}

TEST_F(RecoverTest, AContainerThatVanishedHasEndedInAnUnknownWay) {
  PodRecord record = running(exclusive("db"));
  record.pod.restart_policy = "Never";
  EXPECT_THAT(recover({.pods = {record}, .cpus = holding("db", "2-3")}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3", "save db", "persist shared 0-7"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Failed");
  EXPECT_EQ(node_.pod("db").record.containers.at("main").last_exit->cause, ExitCause::kUnknown);
}

TEST_F(RecoverTest, AnAdmissionOfWhichOnlyTheCheckpointKnowsKeepsItsCpus) {
  PodRecord record{.pod = exclusive("db"), .sequence = 1};
  EXPECT_THAT(recover({.pods = {record}, .cpus = holding("db", "4-5")}),
              ElementsAre("persist shared 0-3,6-7 db/main 4-5", "save db", "start db/main#0 on 4-5",
                          "save db"));
}

// A power cut has lost the record of db's admission; large has waited since before db was created.
TEST_F(RecoverTest, APodThatWaitsDoesNotGetTheCpusOfOneWhoseAdmissionWasNotSynced) {
  PodRecord large{.pod = pod_of("large", {"main cpu=6 memory=1Gi"}), .sequence = 1};
  PodRecord record{.pod = exclusive("db"), .sequence = 2};
  EXPECT_THAT(recover({.pods = {large, record}, .cpus = holding("db", "4-5")}),
              Contains("start db/main#0 on 4-5"));
  EXPECT_EQ(node_.assigned("large", "main"), CpuSet{});
}

TEST_F(RecoverTest, HoldingsOfNobodyAreReleased) {
  EXPECT_THAT(recover({.cpus = holding("ghost", "2-3")}), ElementsAre("persist shared 0-7"));
}

TEST_F(RecoverTest, AStrangerThatRunsKeepsItsCpusAndIsTakenIn) {
  SeenContainer stranger = seen("ghost", "2-3");
  EXPECT_THAT(recover({.cpus = holding("ghost", "2-3"), .seen = {stranger}}),
              ElementsAre("persist shared 0-1,4-7 ghost/main 2-3", "save ghost"));
  EXPECT_EQ(phase_of(node_.pod("ghost")), "Running");
  EXPECT_THAT(node_.exit("ghost", "main", 0), Contains("persist shared 0-7"));
}

TEST_F(RecoverTest, AStrangerIsTakenInByTheManifestThatTheRuntimeHasKept) {
  SeenContainer stranger = seen("db", "2-3");
  stranger.pod = std::make_shared<const Pod>(exclusive("db"));
  EXPECT_THAT(recover({.cpus = node_.empty(), .seen = {stranger}}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3", "save db", "set db/main to 2-3"));
  EXPECT_EQ(node_.pod("db").record.pod.restart_policy, "Always");
}

TEST_F(RecoverTest, WhatAStrangerThatHasEndedLeftIsRemoved) {
  SeenContainer stranger = seen("ghost", "");
  stranger.running = false;
  EXPECT_THAT(recover({.cpus = node_.empty(), .seen = {stranger}, .forgotten = {"ghost"}}),
              ElementsAre("remove ghost/main", "remove-files ghost", "persist shared 0-7"));
}

TEST_F(RecoverTest, VolumesOfAPodThatTheStoreHasNeverForgottenStay) {
  SeenContainer stranger = seen("ghost", "");
  stranger.running = false;
  EXPECT_THAT(recover({.cpus = node_.empty(), .seen = {stranger}}),
              ElementsAre("remove ghost/main", "persist shared 0-7"));
}

TEST_F(RecoverTest, ALostCheckpointIsRebuiltFromWhatRuns) {
  EXPECT_THAT(recover({.pods = {running(exclusive("db")), running(exclusive("mq", 4), 2),
                                running(shared("web"), 3)},
                       .cpus = node_.empty(),
                       .seen = {seen("db", "6-7"), seen("mq", "2-5"), seen("web", "0-1")}}),
              ElementsAre("persist shared 0-1 db/main 6-7 mq/main 2-5", "share 0-1",
                          "set db/main to 6-7", "set mq/main to 2-5"));
}

TEST_F(RecoverTest, CpusThatCannotBeItsOwnAreReplacedWhenTheCheckpointIsRebuilt) {
  const auto lines = recover(
      {.pods = {running(exclusive("db"))}, .cpus = node_.empty(), .seen = {seen("db", "0-5")}});
  EXPECT_THAT(lines,
              ElementsAre("persist shared 0-1,4-7 db/main 2-3", "save db", "set db/main to 2-3"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
}

TEST_F(RecoverTest, ADeletedPodGoesOnStoppingWithTheTimeThatIsLeft) {
  PodRecord record = running(exclusive("db"));
  record.deleted_at = node_.time().wall - seconds(10);
  EXPECT_THAT(
      recover({.pods = {record}, .cpus = holding("db", "2-3"), .seen = {seen("db", "2-3")}}),
      ElementsAre("persist shared 0-1,4-7 db/main 2-3", "stop db/main 20s"));
}

TEST_F(RecoverTest, ADeletedPodThatIsGoneIsReleasedAndForgotten) {
  PodRecord record = admitted(exclusive("db"));
  record.deleted_at = hours(1);
  record.containers["main"] = {.exits = 1, .ended = true, .last_exit = ContainerExit{.code = 143}};
  EXPECT_THAT(recover({.pods = {record}, .cpus = holding("db", "2-3")}),
              ElementsAre("persist shared 0-7", "remove-files db", "forget db"));
}

TEST_F(RecoverTest, ARunThatDoesNotRunIsDeleted) {
  PodRecord record = admitted(exclusive("run"));
  record.source = Source::kRun;
  EXPECT_THAT(recover({.pods = {record}, .cpus = holding("run", "2-3")}),
              ElementsAre("persist shared 0-1,4-7 run/main 2-3", "save run", "persist shared 0-7",
                          "remove-files run", "forget run"));
}

TEST_F(RecoverTest, ARunThatRunsStays) {
  PodRecord record = running(exclusive("run"));
  record.source = Source::kRun;
  EXPECT_THAT(
      recover({.pods = {record}, .cpus = holding("run", "2-3"), .seen = {seen("run", "2-3")}}),
      ElementsAre("persist shared 0-1,4-7 run/main 2-3"));
}

TEST_F(RecoverTest, DriftIsRepairedCountedAndReported) {
  recover({.pods = {running(exclusive("db"))},
           .cpus = holding("db", "2-3"),
           .seen = {seen("db", "2-3")}});
  EXPECT_THAT(observe({seen("db", "2-3")}), IsEmpty());
  EXPECT_THAT(observe({seen("db", "0-7")}), ElementsAre("set db/main to 2-3"));
  EXPECT_THAT(node_.take_counts(), Contains("corehold_drift_repairs_total"));
  EXPECT_THAT(node_.take_events(), Contains("CpusetDriftRepaired db/main"));
  SeenContainer strayed = seen("db", "2-3");
  strayed.strayed = true;
  EXPECT_THAT(observe({strayed}), ElementsAre("set db/main to 2-3"));
}

const ContainerRef kPartitioned{"db", "main"};
constexpr const char* kInvalidated = "isolated invalid (Cpu list in cpuset.cpus not exclusive)";

// A container db/main on CPUs 2-3 that are to be a partition, found by an agent that has begun.
class PartitionTest : public RecoverTest {
 protected:
  PartitionTest() {
    Pod pod = exclusive("db");
    pod.annotations[kQuietAnnotation] = "partition";
    recover({.pods = {running(pod)}, .cpus = holding("db", "2-3"), .seen = {seen("db", "2-3")}});
    node_.take_events();
  }

  static SeenContainer seen_as(const std::string& partition, const std::string& on = "2-3") {
    SeenContainer container = seen("db", on);
    container.partition = partition;
    return container;
  }
  // The effects of a reconcile that finds the container so.
  std::vector<std::string> look(const SeenContainer& found) {
    node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
    return node_.send(Observed{.seen = {found}, .online = cpus("0-7")});
  }
  // The kernel has the CPUs as asked for, but makes no partition of them.
  std::vector<std::string> refuse(const std::string& on = "2-3") {
    return node_.send(CpusetFailed{.container = kPartitioned,
                                   .cpus = cpus(on),
                                   .error = {Code::kUnsupported, "no isolated partition"}});
  }
};

TEST_F(PartitionTest, ThatIsLostIsMadeOneAgainAndItsLossReported) {
  EXPECT_THAT(look(seen_as("isolated")), Not(Contains("set db/main to 2-3")));
  EXPECT_THAT(look(seen_as(kInvalidated)), Contains("set db/main to 2-3"));
  EXPECT_THAT(node_.take_events(), Contains("PartitionLost db/main"));
  node_.send(CpusetApplied{.container = kPartitioned, .cpus = cpus("2-3")});
  EXPECT_THAT(look(seen_as("isolated")), Not(Contains("set db/main to 2-3")));
  EXPECT_THAT(node_.take_events(), IsEmpty());
}

TEST_F(PartitionTest, ThatTheKernelRefusesIsToldAndNotTriedAgain) {
  ASSERT_THAT(look(seen_as(kInvalidated)), Contains("set db/main to 2-3"));
  node_.take_events();
  EXPECT_THAT(refuse(), IsEmpty());
  EXPECT_THAT(node_.take_events(), ElementsAre("FailedPartition db/main"));
  EXPECT_THAT(node_.take_counts(), Not(Contains("corehold_cpuset_apply_failures_total")));
  const PlacedContainer& main = node_.placed("db").containers.at("main");
  EXPECT_EQ(main.confirmed, cpus("2-3"));
  EXPECT_FALSE(main.strayed);
  EXPECT_EQ(main.setting, Attempt{});
  EXPECT_THAT(look(seen_as(kInvalidated)), ElementsAre("timer reconcile 10s"));
  EXPECT_THAT(look(seen_as("member")), ElementsAre("timer reconcile 10s"));
  EXPECT_THAT(node_.take_events(), IsEmpty());
}

TEST_F(PartitionTest, ThatTheKernelHasRefusedIsAskedForWithTheNextCpus) {
  look(seen_as(kInvalidated));
  refuse();
  node_.take_events();
  node_.run(node_.wish("db", {{"main", "4"}}));
  EXPECT_EQ(node_.placed("db").containers.at("main").confirmed, cpus("2-5"));
  EXPECT_FALSE(node_.placed("db").containers.at("main").is_partition_refused);
  EXPECT_THAT(look(seen_as(kInvalidated, "2-5")), Contains("set db/main to 2-5"));
}

TEST_F(PartitionTest, ThatTheKernelRefusesDoesNotHoldUpAResize) {
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              Contains("set db/main to 2-5"));
  node_.take_events();
  refuse("2-5");
  node_.run_answers();
  node_.run(PodSaved{.uid = "db"});
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
  EXPECT_THAT(node_.take_events(),
              AllOf(Contains("FailedPartition db/main"), Contains("ResizeCompleted db")));
}

TEST_F(PartitionTest, ThatTheKernelHasRefusedAndMadeAgainMayBeLostAgain) {
  look(seen_as(kInvalidated));
  refuse();
  node_.take_events();
  look(seen_as("isolated"));
  EXPECT_THAT(look(seen_as(kInvalidated)), Contains("set db/main to 2-3"));
  EXPECT_THAT(node_.take_events(), Contains("PartitionLost db/main"));
}

TEST_F(PartitionTest, ThatTheKernelHasRefusedIsAskedForByTheNextAgent) {
  look(seen_as(kInvalidated));
  refuse();
  node_.restart();
  EXPECT_THAT(look(seen_as(kInvalidated)), Contains("set db/main to 2-3"));
}

TEST_F(PartitionTest, IsNotWhatAMemoryLimitBelowWhatIsUsedIsTakenFor) {
  look(seen_as(kInvalidated));
  node_.take_events();
  EXPECT_THAT(node_.send(CpusetFailed{.container = kPartitioned,
                                      .cpus = cpus("2-3"),
                                      .error = {Code::kConflict, "below current usage"}}),
              ElementsAre("timer retry db/main 1s"));
  EXPECT_THAT(node_.take_events(), IsEmpty());
}

TEST_F(RecoverTest, WhoeverIsSeenOnCpusHoldsUpAStartThere) {
  recover({.pods = {running(shared("web"))}, .cpus = node_.empty(), .seen = {seen("web", "0-7")}});
  node_.run(CreatePod{.pod = exclusive("db")});
  node_.exit("db", "main", 1);
  node_.exit("db", "main", 1);  // backs off
  node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  EXPECT_THAT(node_.send(Observed{.seen = {seen("web", "0-7")}, .online = cpus("0-7")}),
              Contains("set web/main to 0-1,4-7"));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kRestart, {"db", "main"}}}), IsEmpty());
  EXPECT_THAT(node_.send(CpusetApplied{.container = {"web", "main"}, .cpus = cpus("0-1,4-7")}),
              ElementsAre("start db/main#2 on 2-3"));
}

TEST_F(RecoverTest, ReconcilingLeavesAloneWhatWasTouchedMeanwhile) {
  node_.create(shared("web"));
  node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  node_.create(exclusive("db"));  // web has left 2-3 since
  EXPECT_THAT(node_.run(Observed{.seen = {seen("web", "0-7")}, .online = cpus("0-7")}),
              ElementsAre("timer reconcile 10s"));
  EXPECT_THAT(node_.take_events(), Not(Contains("CpusetDriftRepaired web/main")));
}

TEST_F(RecoverTest, AContainerThatVanishedUnnoticedIsFoundByReconciling) {
  node_.create(shared("web"));
  EXPECT_THAT(observe({}), ElementsAre("save web", "start web/main#1 on 0-7", "save web"));
}

TEST_F(RecoverTest, AnUnknownContainerFoundLaterIsKilled) {
  EXPECT_THAT(observe({seen("ghost", "2-3")}), ElementsAre("stop ghost/main 0s"));
}

TEST_F(RecoverTest, OfflineCpusLeaveEveryCpusetAndAreGivenToNobody) {
  node_.create(shared("web"));
  node_.create(exclusive("db"));
  EXPECT_THAT(observe({seen("db", "2"), seen("web", "0-1,4-6")}, "0-2,4-6"),
              ElementsAre("share 0-1,4-6", "set db/main to 2"));
  EXPECT_THAT(node_.take_events(), AllOf(Contains("CpusOffline"), Contains("CpusOffline db/main"),
                                         Not(Contains("CpusOffline web/main"))));
  node_.create(exclusive("next", 5));
  EXPECT_FALSE(is_admitted(node_.placed("next")));
  EXPECT_THAT(observe({seen("db", "2"), seen("web", "0-1,4-6")}),
              Contains("persist shared 0 db/main 2-3 next/main 1,4-7"));
}

TEST_F(RecoverTest, AContainerAllOfWhoseCpusAreOfflineKeepsItsCpuset) {
  node_.create(exclusive("db"));
  EXPECT_THAT(observe({seen("db", "0-1,4-7")}, "0-1,4-7"), IsEmpty());
}

TEST_F(RecoverTest, AnObservationThatFailsIsTriedAgain) {
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}}), ElementsAre("observe"));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}}), IsEmpty());
  EXPECT_THAT(node_.send(ObserveFailed{{Code::kIo, "no"}}), ElementsAre("timer reconcile 10s"));
}

}  // namespace
}  // namespace corehold
