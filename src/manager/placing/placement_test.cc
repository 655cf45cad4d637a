// SPDX-License-Identifier: Apache-2.0
//
// Who gets in, who waits, who is turned away, and what becomes of it when the disk fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/admitting.h"
#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Error kFull{Code::kIo, "no space left"};

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class PlacementTest : public testing::Test {
 protected:
  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};

  static Pod exclusive(const std::string& name, int cpus, int priority = 0) {
    Pod pod = pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
    pod.priority = priority;
    pod.restart_policy = "Never";
    return pod;
  }
};

TEST_F(PlacementTest, APodThatDoesNotFitWaitsAndSaysWhy) {
  node_.create(exclusive("big", 6));
  EXPECT_THAT(node_.create(exclusive("next", 2)), ElementsAre("save next", "reply 1"));
  EXPECT_EQ(node_.pod("next").record.reason, "Unschedulable");
  EXPECT_THAT(node_.pod("next").record.message,
              HasSubstr("not enough cpus available to satisfy request: requested=2, available=1"));
  EXPECT_THAT(node_.take_events(), Contains("FailedScheduling next"));
  EXPECT_EQ(phase_of(node_.pod("next")), "Pending");
}

TEST_F(PlacementTest, WaitingPodsComeInByPriorityThenAgeAndOneThatDoesNotFitBlocksNobody) {
  node_.create(exclusive("big", 6));
  node_.create(exclusive("old", 2));
  node_.create(exclusive("new", 3));
  node_.create(exclusive("urgent", 3, 10));
  node_.create(exclusive("huge", 7, 5));
  EXPECT_THAT(node_.exit("big", "main", 0),
              Contains("persist shared 0,6-7 old/main 4-5 urgent/main 1-3"));
  EXPECT_TRUE(is_admitted(node_.placed("old")));
  EXPECT_FALSE(is_admitted(node_.placed("new")));
  EXPECT_FALSE(is_admitted(node_.placed("huge")));
}

TEST_F(PlacementTest, AStaticPodThatDoesNotFitFailsWithTheKubeletsReason) {
  node_.create(exclusive("big", 6));
  node_.create(exclusive("file", 2), Source::kStatic);
  EXPECT_EQ(phase_of(node_.pod("file")), "Failed");
  EXPECT_EQ(node_.pod("file").record.reason, "OutOfcpu");
  EXPECT_NE(node_.pod("file").record.started_at, WallTime{}) << "bound, as with a kubelet";
  EXPECT_THAT(node_.take_counts(), Contains("kubelet_admission_rejections_total"));
}

TEST_F(PlacementTest, ARunThatDoesNotFitIsAnsweredWithTheErrorAndForgotten) {
  node_.create(exclusive("big", 6));
  EXPECT_THAT(node_.create(exclusive("run", 2), Source::kRun),
              ElementsAre("save run",
                          HasSubstr("reply 1 container main of pod default/run: not "
                                    "enough cpus"),
                          "remove-files run", "forget run"));
  EXPECT_FALSE(node_.node().running.pods.contains("run"));
}

TEST_F(PlacementTest, ARunIsAnsweredOnceItsCpusAreSafelyItsOwn) {
  node_.send(CreatePod{.pod = exclusive("run", 2), .source = Source::kRun, .request = 4});
  EXPECT_THAT(node_.send(PodSaved{.uid = "run"}),
              ElementsAre("persist shared 0-1,4-7 run/main 2-3"));
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              ElementsAre("podinfo run main=2-3", "reply 4", "save run"));
}

TEST_F(PlacementTest, ARunThatMayWaitIsAnsweredWhenItIsSaved) {
  node_.create(exclusive("big", 6));
  EXPECT_THAT(node_.create(exclusive("run", 2), Source::kRunWaiting),
              ElementsAre("save run", "reply 1"));
}

TEST_F(PlacementTest, WhatARunLeavesIsClearedAwayWhenItEnds) {
  node_.create(exclusive("run", 2), Source::kRun);
  EXPECT_THAT(node_.exit("run", "main", 0),
              ElementsAre("save run", "persist shared 0-7", "remove run/main", "remove-files run",
                          "forget run"));
}

TEST_F(PlacementTest, APodThatCannotBeSavedIsNotCreated) {
  node_.send(CreatePod{.pod = exclusive("db", 2), .request = 3});
  EXPECT_THAT(node_.send(PodSaved{.uid = "db", .error = kFull}),
              ElementsAre("remove-files db", "forget db"));
  // Answered when nothing of the pod is left: the client may create it again at once.
  EXPECT_THAT(node_.send(PodForgotten{.uid = "db"}), ElementsAre("reply 3 no space left"));
  EXPECT_FALSE(node_.node().running.pods.contains("db"));
}

TEST_F(PlacementTest, APodThatCannotBeForgottenEitherIsRefusedAllTheSame) {
  node_.send(CreatePod{.pod = exclusive("db", 2), .request = 3});
  node_.send(PodSaved{.uid = "db", .error = kFull});
  EXPECT_THAT(node_.send(PodForgotten{.uid = "db", .error = kFull}),
              ElementsAre("reply 3 no space left", "timer save-retry db 1s"));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kSaveRetry, {"db", ""}}}),
              ElementsAre("remove-files db", "forget db"));
  EXPECT_THAT(node_.send(PodForgotten{.uid = "db"}), ElementsAre());
}

TEST_F(PlacementTest, AnAdmissionThatCannotBeSavedIsWithdrawnAndTriedAgain) {
  node_.send(CreatePod{.pod = exclusive("db", 2)});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(
      node_.send(CheckpointSaved{.revision = node_.node().placing.revision, .error = kFull}),
      ElementsAre("timer save-retry 1s"));
  EXPECT_FALSE(is_admitted(node_.placed("db")));
  EXPECT_EQ(node_.assigned("db", "main"), CpuSet{});
  EXPECT_EQ(node_.pod("db").record.message, "cannot save the checkpoint: no space left");
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kSaveRetry, {}}}),
              ElementsAre("persist shared 0-1,4-7 db/main 2-3"));
  EXPECT_THAT(
      node_.send(CheckpointSaved{.revision = node_.node().placing.revision, .error = kFull}),
      ElementsAre("timer save-retry 2s"));
  node_.send(TimerFired{{TimerKey::Kind::kSaveRetry, {}}});
  EXPECT_THAT(node_.run_answers(), Contains("start db/main#0 on 2-3"));
}

TEST_F(PlacementTest, ARunWhoseAdmissionCannotBeSavedFails) {
  node_.send(CreatePod{.pod = exclusive("run", 2), .source = Source::kRun, .request = 4});
  node_.send(PodSaved{.uid = "run"});
  EXPECT_THAT(
      node_.run(CheckpointSaved{.revision = node_.node().placing.revision, .error = kFull}),
      ElementsAre("timer save-retry 1s", "reply 4 cannot save the checkpoint: no space left",
                  "remove-files run", "forget run"));
}

TEST_F(PlacementTest, AReleaseThatCannotBeSavedKeepsTheCpusFromEverybody) {
  node_.create(pod_of("web", {"main cpu=100m..2"}));
  node_.create(exclusive("db", 2));
  node_.send(ContainerExited{.container = {"db", "main"}});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(
      node_.send(CheckpointSaved{.revision = node_.node().placing.revision, .error = kFull}),
      ElementsAre("timer save-retry 1s"));
  EXPECT_THAT(node_.create(exclusive("next", 6)), ElementsAre("save next", "reply 1"));
  EXPECT_THAT(node_.run(TimerFired{{TimerKey::Kind::kSaveRetry, {}}}),
              ElementsAre("persist shared 0-1 next/main 2-7", "podinfo next main=2-7", "save next",
                          "share 0-1", "start next/main#0 on 2-7", "save next"));
}

TEST_F(PlacementTest, ADeletionThatCannotBeSavedFailsAndTouchesNobody) {
  node_.create(exclusive("db", 2));
  node_.send(DeletePod{.uid = "db", .request = 8});
  EXPECT_THAT(node_.send(PodSaved{.uid = "db", .error = kFull}),
              ElementsAre("reply 8 no space left", "timer save-retry db 1s"));
  EXPECT_EQ(node_.pod("db").record.deleted_at, WallTime{});
  EXPECT_THAT(node_.run(TimerFired{{TimerKey::Kind::kSaveRetry, {"db", ""}}}),
              ElementsAre("save db"));
  EXPECT_EQ(node_.pod("db").containers.at("main").stage, Stage::kRunning);
}

TEST_F(PlacementTest, DeletingAnUnknownPodIsAnErrorAndATakenUidToo) {
  EXPECT_THAT(node_.send(DeletePod{.uid = "x", .request = 5}),
              ElementsAre("reply 5 there is no pod with UID x"));
  node_.create(exclusive("db", 2));
  EXPECT_THAT(node_.send(CreatePod{.pod = exclusive("db", 2), .request = 6}),
              ElementsAre(HasSubstr("reply 6 pod default/db has the UID db of another pod")));
}

TEST_F(PlacementTest, ADeletedPodThatWaitsIsForgottenAtOnce) {
  node_.create(exclusive("big", 6));
  node_.create(exclusive("next", 2));
  EXPECT_THAT(node_.run(DeletePod{.uid = "next", .request = 2}),
              ElementsAre("save next", "reply 2", "remove-files next", "forget next"));
}

TEST_F(PlacementTest, AFailedShrinkHoldsUpTheStartAndIsTriedAgain) {
  node_.create(pod_of("web", {"main cpu=100m..2"}));
  node_.send(CreatePod{.pod = exclusive("db", 2)});
  node_.send(PodSaved{.uid = "db"});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(PodInfoWritten{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  node_.take_counts();
  const CpuSet smaller = cpus("0-1,4-7");
  EXPECT_THAT(node_.send(SharedCpusFailed{.cpus = smaller, .error = kFull}),
              ElementsAre("timer retry 1s"));
  EXPECT_THAT(node_.take_counts(), ElementsAre("corehold_cpuset_apply_failures_total"));
  EXPECT_THAT(node_.take_events(), Contains("FailedCpuset"));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kRetry, {}}}), ElementsAre("share 0-1,4-7"));
  EXPECT_THAT(node_.send(SharedCpusApplied{.cpus = smaller}),
              ElementsAre("start db/main#0 on 2-3"));
}

TEST_F(PlacementTest, NothingStartsBeforeItsFilesAreWritten) {
  node_.send(CreatePod{.pod = exclusive("db", 2)});
  node_.send(PodSaved{.uid = "db"});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db", .error = kFull}),
              ElementsAre("timer retry db 1s"));
  EXPECT_THAT(node_.run(TimerFired{{TimerKey::Kind::kRetry, {"db", ""}}}),
              ElementsAre("podinfo db main=2-3", "start db/main#0 on 2-3", "save db"));
}

TEST(MemoryPinning, FollowsTheNodesOfExclusiveCpus) {
  TestNode node(machine("2s4c1t"), {.reserved = cpus("0"), .reserved_count = 1});
  ManagerRules pinning = node.rules();
  pinning.memory_pinning = true;
  NodeState state = node.node();
  std::string started;
  std::vector<Command> open{CreatePod{.pod = pod_of("db", {"main cpu=4 memory=1Gi"})},
                            PodSaved{.uid = "db"}};
  for (std::size_t next = 0; next < open.size(); ++next) {
    Outcome outcome = step(pinning, std::move(state), Command(open[next]), node.time());
    state = std::move(outcome.node);
    for (const Effect& effect : outcome.effects) {
      if (std::holds_alternative<StartContainer>(effect)) started = line_of(effect);
      if (const auto* save = std::get_if<PersistCheckpoint>(&effect)) {
        open.emplace_back(CheckpointSaved{.revision = save->revision});
        open.emplace_back(PodSaved{.uid = "db"});
        open.emplace_back(PodInfoWritten{.uid = "db"});
      }
    }
  }
  EXPECT_EQ(started, "start db/main#0 on 4-7 mems 1");
}

}  // namespace
}  // namespace corehold
