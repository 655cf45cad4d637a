// SPDX-License-Identifier: Apache-2.0
//
// The life of pods: the order of effects from creation to deletion.
#include "manager/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class NodeTest : public testing::Test {
 protected:
  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};

  static Pod exclusive(const std::string& name, int cpus = 2) {
    return pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
  }
  static Pod shared(const std::string& name) { return pod_of(name, {"main cpu=100m..2"}); }
};

TEST_F(NodeTest, AnExclusivePodIsSavedPlacedToldAndOnlyThenStarted) {
  EXPECT_THAT(node_.send(CreatePod{.pod = exclusive("db"), .request = 7}), ElementsAre("save db"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}),
              ElementsAre("reply 7", "persist shared 0-1,4-7 db/main 2-3"));
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              ElementsAre("podinfo db main=2-3", "save db"));
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), ElementsAre("start db/main#0 on 2-3"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Pending");
  EXPECT_THAT(node_.send(ContainerStarted{.container = {"db", "main"}, .attempt = 0}),
              ElementsAre("save db"));
  EXPECT_EQ(phase_of(node_.pod("db")), "Running");
}

TEST_F(NodeTest, SharedContainersLeaveBeforeTheExclusiveOneStarts) {
  node_.create(shared("web"));
  node_.create(shared("job"));
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              ElementsAre("podinfo db main=2-3", "save db", "share 0-1,4-7"));
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(SharedCpusApplied{cpus("0-1,4-7")}),
              ElementsAre("start db/main#0 on 2-3"));
}

// A container that starts joins the others that share where they are, whenever it does.
TEST_F(NodeTest, ASharedContainerThatIsJustStartingLeavesFirstToo) {
  node_.run(CreatePod{.pod = shared("web")});
  node_.exit("web", "main", 1);  // restarts at once; the second time it backs off
  node_.exit("web", "main", 1);
  node_.send(TimerFired{{TimerKey::Kind::kRestart, {"web", "main"}}});
  EXPECT_EQ(node_.pod("web").containers.at("main").stage, Stage::kStarting);
  EXPECT_THAT(node_.run(CreatePod{.pod = exclusive("db")}),
              ElementsAre("save db", "persist shared 0-1,4-7 db/main 2-3", "podinfo db main=2-3",
                          "save db", "share 0-1,4-7", "start db/main#0 on 2-3", "save db"));
  EXPECT_THAT(node_.run(ContainerStarted{.container = {"web", "main"}, .attempt = 2}),
              ElementsAre("save web"));
}

TEST_F(NodeTest, DeletionIsSavedThenContainersEndThenCpusGoBack) {
  node_.create(shared("web"));
  node_.create(exclusive("db"));
  EXPECT_THAT(node_.send(DeletePod{.uid = "db", .request = 9}), ElementsAre("save db"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), ElementsAre("reply 9", "stop db/main 30s"));
  EXPECT_THAT(node_.send(ContainerExited{.container = {"db", "main"}, .exit = {.code = 143}}),
              ElementsAre("save db"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}),
              ElementsAre("persist shared 0-7", "remove db/main"));
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              ElementsAre("share 0-7", "remove-files db", "forget db"));
  EXPECT_THAT(node_.send(PodForgotten{.uid = "db"}), IsEmpty());
  EXPECT_FALSE(node_.node().running.pods.contains("db"));
}

TEST_F(NodeTest, AContainerThatStopsKeepsItsCpusUntilItIsGone) {
  node_.create(exclusive("db"));
  EXPECT_THAT(node_.run(DeletePod{.uid = "db", .grace = seconds(5)}), Contains("stop db/main 5s"));
  node_.wait(seconds(5));
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
}

TEST_F(NodeTest, AFinishedPodStaysAndItsCpusGoBack) {
  Pod pod = exclusive("job");
  pod.restart_policy = "Never";
  node_.create(pod);
  EXPECT_THAT(node_.exit("job", "main", 0),
              ElementsAre("save job", "persist shared 0-7", "remove job/main"));
  EXPECT_EQ(phase_of(node_.pod("job")), "Succeeded");
}

TEST_F(NodeTest, AnEditIsAnsweredWhenTheStoreHasIt) {
  node_.create(exclusive("db"));
  Pod edited = node_.pod("db").record.pod;
  edited.labels["tier"] = "gold";
  EXPECT_THAT(node_.send(UpdatePod{.pod = edited, .is_new_spec = true, .request = 5}),
              ElementsAre("save db"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), ElementsAre("reply 5", "podinfo db main=2-3"));
  EXPECT_EQ(node_.pod("db").record.pod.labels.at("tier"), "gold");
  EXPECT_EQ(node_.pod("db").record.generation, 2);
}

TEST_F(NodeTest, AnEditThatTheStoreRefusesIsTakenBack) {
  node_.create(exclusive("db"));
  Pod edited = node_.pod("db").record.pod;
  edited.labels["tier"] = "gold";
  node_.send(UpdatePod{.pod = edited, .is_new_spec = true, .request = 5});
  EXPECT_THAT(node_.send(PodSaved{.uid = "db", .error = Error{Code::kIo, "disk full"}}),
              ElementsAre("reply 5 disk full", "timer save-retry db 1s"));
  EXPECT_TRUE(node_.pod("db").record.pod.labels.empty());
  EXPECT_EQ(node_.pod("db").record.generation, 1);
  EXPECT_THAT(node_.send(UpdatePod{.pod = edited, .request = 6}),
              ElementsAre("reply 6 an earlier change of the pod is not in the store yet; try again "
                          "later"));
}

// A part of the disk is kept for deletions.
TEST_F(NodeTest, ADeletionDoesNotWaitForTheRetryOfAnotherChange) {
  node_.create(exclusive("db"));
  Pod edited = node_.pod("db").record.pod;
  edited.labels["tier"] = "gold";
  node_.send(UpdatePod{.pod = edited, .request = 5});
  node_.send(PodSaved{.uid = "db", .error = Error{Code::kIo, "disk full"}});
  EXPECT_THAT(node_.send(DeletePod{.uid = "db", .request = 6}),
              ElementsAre("cancel save-retry db", "save db"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), ElementsAre("reply 6", "stop db/main 30s"));
}

TEST_F(NodeTest, AnEditCannotChangeWhatContainersAskFor) {
  node_.create(exclusive("db"));
  EXPECT_THAT(node_.send(UpdatePod{.pod = exclusive("db", 3), .request = 5}),
              ElementsAre("reply 5 containers and what they ask for cannot be changed this way"));
  EXPECT_THAT(node_.send(UpdatePod{.pod = exclusive("web"), .request = 6}),
              ElementsAre("reply 6 there is no pod with UID web"));
}

TEST_F(NodeTest, ACordonedNodeLetsPodsWaitAndTakesThemLater) {
  node_.create(shared("web"));
  node_.send(SetCordon{.cordoned = true});
  node_.create(exclusive("db"));
  EXPECT_FALSE(is_admitted(node_.placed("db")));
  EXPECT_EQ(node_.pod("db").record.reason, "Unschedulable");
  node_.create(exclusive("static"), Source::kStatic);
  EXPECT_TRUE(is_admitted(node_.placed("static")));
  node_.exit("web", "main", 1);
  EXPECT_EQ(node_.pod("web").containers.at("main").stage, Stage::kRunning);
  node_.run(SetCordon{.cordoned = false});
  EXPECT_TRUE(is_admitted(node_.placed("db")));
}

}  // namespace
}  // namespace corehold
