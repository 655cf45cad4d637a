// SPDX-License-Identifier: Apache-2.0
//
// Resizes of running pods: what is done in which order, who waits and who comes first, and
// what is left when something fails.
#include "manager/placing/resizing.h"

#include <limits>

#include <fmt/format.h>
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
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const Error kNoSpace{Code::kIo, "no space left"};

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class ResizingTest : public testing::Test {
 protected:
  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};

  static Pod exclusive(const std::string& name, int cpus, int priority = 0) {
    Pod pod = pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
    pod.priority = priority;
    return pod;
  }

  ResizePod wish(const std::string& uid, const std::map<std::string, std::string>& amounts,
                 std::string_view resource = kCpu) const {
    return node_.wish(uid, amounts, resource);
  }
  std::vector<std::string> resize(const std::string& uid, const std::string& cpus) {
    return node_.resize(uid, cpus);
  }
  const ResizeState& state(const std::string& uid) const { return node_.placed(uid).resize; }
};

TEST_F(ResizingTest, OneThatGrowsGetsItsCpusWhenTheyAreDurableAndTheOthersHaveLeft) {
  node_.create(pod_of("web", {"main cpu=100m"}));
  node_.create(exclusive("db", 2));
  node_.take_events();
  EXPECT_THAT(resize("db", "4"),
              ElementsAre("save db", "reply 9", "persist shared 0-1,6-7 db/main 2-5", "save db",
                          "share 0-1,6-7", "set db/main to 2-5", "podinfo db main=2-5", "save db"));
  EXPECT_THAT(node_.take_events(),
              ElementsAre("ResizeStarted db", "CpusetApplied db/main", "ResizeCompleted db"));
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
  EXPECT_EQ(node_.node().placing.durable.find({"db", "main"})->promised.str(), "2-3");
}

TEST_F(ResizingTest, OneThatShrinksIsToldBeforeItsCpusAreTaken) {
  node_.create(pod_of("web", {"main cpu=100m"}));
  node_.create(exclusive("db", 2));
  resize("db", "6");
  EXPECT_THAT(resize("db", "4"),
              ElementsAre("save db", "reply 9", "podinfo db main=2-5", "save db",
                          "set db/main to 2-7", "set db/main to 2-5",
                          "persist shared 0-1,6-7 db/main 2-5", "save db", "share 0-1,6-7"));
  EXPECT_EQ(node_.pod("db").record.pod.containers[0].request(kCpu).str(), "4");
}

TEST_F(ResizingTest, WhatIsOnItsWayToTheFilesCountsAsTold) {
  node_.create(exclusive("db", 2));
  resize("db", "4");
  // The growth is being told while the shrink is decided on.
  node_.send(wish("db", {{"main", "6"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(CpusetApplied{.container = {"db", "main"}, .cpus = cpus("2-7")});
  ASSERT_TRUE(node_.placed("db").files.telling.has_value());
  node_.send(PodSaved{.uid = "db"});
  node_.send(wish("db", {{"main", "4"}}));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), Not(Contains("set db/main to 2-5")));
  node_.send(CpusetApplied{.container = {"db", "main"}, .cpus = cpus("2-7")});
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), Contains("podinfo db main=2-5"));
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), Contains("set db/main to 2-5"));
}

TEST_F(ResizingTest, BelowWhatWasPromisedIsInfeasibleAndChangesNothing) {
  node_.create(exclusive("db", 2));
  resize("db", "4");
  node_.take_counts();
  const State before = node_.node().placing.durable;
  EXPECT_THAT(resize("db", "1"), ElementsAre("save db", "reply 9"));
  EXPECT_EQ(state("db").verdict, ResizeVerdict::kInfeasible);
  EXPECT_THAT(state("db").message, HasSubstr("prohibitedCPUAllocationError"));
  EXPECT_EQ(node_.node().placing.durable.pods, before.pods);
  EXPECT_EQ(node_.node().placing.revision, node_.node().placing.saved_revision);
  EXPECT_EQ(node_.pod("db").record.pod.containers[0].request(kCpu).str(), "4");
  EXPECT_EQ(wanted_pod(node_.pod("db").record).containers[0].request(kCpu).str(), "1");
  EXPECT_THAT(node_.take_counts(), Contains("kubelet_pod_infeasible_resizes_total"));
  // Asking for what it has ends it.
  EXPECT_THAT(resize("db", "4"), ElementsAre("save db", "reply 9"));
  EXPECT_FALSE(state("db").verdict.has_value());
  EXPECT_FALSE(node_.pod("db").record.wish.has_value());
}

TEST_F(ResizingTest, OneThatDoesNotFitNowWaitsForThoseThatHoldWhatItNeeds) {
  node_.create(exclusive("db", 2));
  node_.create(exclusive("mq", 4));
  resize("db", "6");
  EXPECT_EQ(state("db").verdict, ResizeVerdict::kDeferred);
  EXPECT_THAT(state("db").message, HasSubstr("default/mq"));
  node_.take_events();
  node_.run(DeletePod{.uid = "mq", .grace = seconds(0)});
  node_.exit("mq", "main", 0);
  EXPECT_EQ(node_.assigned("db", "main").size(), 6);
  EXPECT_THAT(node_.take_events(), Contains("ResizeCompleted db"));
  EXPECT_THAT(node_.take_counts(), Contains("kubelet_pod_deferred_accepted_resizes_total"));
}

TEST_F(ResizingTest, OneThatWaitsIsToldWhenItWaitsInVainBecauseCpusAreOffline) {
  node_.create(exclusive("db", 2));
  node_.create(exclusive("mq", 4));
  resize("db", "6");
  ASSERT_EQ(state("db").verdict, ResizeVerdict::kDeferred);
  const CpuSet held = node_.assigned("db", "main") | node_.assigned("mq", "main");
  std::vector<SeenContainer> seen;
  for (const char* uid : {"db", "mq"}) {
    seen.push_back(
        {.container = {uid, "main"}, .running = true, .cpus = node_.assigned(uid, "main")});
  }
  node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  node_.run(Observed{.seen = seen, .online = held});
  EXPECT_EQ(state("db").verdict, ResizeVerdict::kInfeasible);
}

// CPUs 0-15, of which 15 can be given, and nobody is left any.
class QueueTest : public ResizingTest {
 protected:
  QueueTest() { node_ = TestNode{machine("1s8c2t"), {.reserved = cpus("0"), .reserved_count = 1}}; }
  void wait_for(const std::string& uid, const std::string& cpus) {
    resize(uid, cpus);
    ASSERT_EQ(state(uid).verdict, ResizeVerdict::kDeferred) << uid;
    node_.wait(seconds(1));
  }
  // Those whose resize began when the pod had gone.
  std::vector<std::string> started_without(const std::string& uid) {
    node_.take_events();
    node_.run(DeletePod{.uid = uid, .grace = seconds(0)});
    node_.exit(uid, "main", 0);
    std::vector<std::string> events = node_.take_events();
    std::erase_if(events, [](const auto& event) { return !event.starts_with("ResizeStarted "); });
    return events;
  }
  int has(const std::string& uid) const { return node_.assigned(uid, "main").size(); }
};

TEST_F(QueueTest, FreedCpusWakeJustTheOneThatTheyAreEnoughFor) {
  for (const char* uid : {"most", "least", "some"}) node_.create(exclusive(uid, 1));
  node_.create(exclusive("little", 3));
  node_.create(exclusive("much", 9));
  wait_for("most", "9");
  wait_for("least", "4");
  wait_for("some", "6");
  EXPECT_THAT(started_without("little"), ElementsAre("ResizeStarted least"));
  EXPECT_EQ(has("least"), 4);
  EXPECT_EQ(state("most").verdict, ResizeVerdict::kDeferred);
  EXPECT_EQ(state("some").verdict, ResizeVerdict::kDeferred);
  // Nine are enough for either, and "most" has waited longer.
  EXPECT_THAT(started_without("much"), ElementsAre("ResizeStarted most"));
  EXPECT_EQ(has("most"), 9);
  EXPECT_EQ(has("some"), 1);
  EXPECT_THAT(state("some").message, HasSubstr("needs CPUs held by default/most main"));
  // Four, and one that is free: just what it needs.
  EXPECT_THAT(started_without("least"), ElementsAre("ResizeStarted some"));
}

TEST_F(QueueTest, APodOnSharedCpusThatLeavesWakesNobody) {
  node_.create(exclusive("db", 1));
  node_.create(exclusive("much", 14));
  node_.create(pod_of("web", {"main cpu=100m"}));
  wait_for("db", "2");
  const std::string message = state("db").message;
  EXPECT_THAT(started_without("web"), IsEmpty());
  EXPECT_EQ(state("db").message, message);
}

TEST_F(QueueTest, PriorityGoesBeforeWaitingTime) {
  node_.create(exclusive("old", 1));
  node_.create(exclusive("urgent", 1, 5));
  node_.create(exclusive("much", 13));
  wait_for("old", "8");
  wait_for("urgent", "8");
  EXPECT_THAT(started_without("much"), ElementsAre("ResizeStarted urgent"));
  EXPECT_EQ(has("old"), 1);
}

TEST_F(QueueTest, ABlockedOneDoesNotBlockThoseBehindIt) {
  node_.create(exclusive("huge", 1, 9));
  for (const char* uid : {"a", "b"}) node_.create(exclusive(uid, 1));
  node_.create(exclusive("kept", 8));
  node_.create(exclusive("gone", 4));
  wait_for("huge", "12");
  wait_for("b", "3");
  wait_for("a", "3");
  EXPECT_THAT(started_without("gone"), UnorderedElementsAre("ResizeStarted a", "ResizeStarted b"));
  EXPECT_EQ(state("huge").verdict, ResizeVerdict::kDeferred);
}

TEST_F(QueueTest, OutlivesTheAgent) {
  for (const char* uid : {"a", "b", "c"}) node_.create(exclusive(uid, 1));
  node_.create(exclusive("much", 12));
  wait_for("c", "5");
  wait_for("a", "5");
  wait_for("b", "10");
  node_.restart();
  for (const char* uid : {"a", "b", "c"}) {
    EXPECT_EQ(state(uid).verdict, ResizeVerdict::kDeferred) << uid;
  }
  started_without("much");
  EXPECT_EQ(has("a"), 5);
  EXPECT_EQ(has("c"), 5);
  EXPECT_EQ(has("b"), 1);
}

TEST_F(QueueTest, WhoHasWaitedLongestIsFirstForTheNextAgentToo) {
  node_.create(exclusive("first", 1));
  node_.create(exclusive("second", 1));
  node_.create(exclusive("much", 13));
  wait_for("second", "8");
  wait_for("first", "8");
  node_.restart();
  EXPECT_THAT(started_without("much"), ElementsAre("ResizeStarted second"));
  EXPECT_EQ(has("first"), 1);
}

TEST_F(ResizingTest, ContainersOfAPodSwapCpusOnAFullNode) {
  node_.create(pod_of("pair", {"a cpu=2 memory=1Gi", "b cpu=1 memory=1Gi"}));
  node_.run(wish("pair", {{"a", "5"}}));
  ASSERT_EQ(node_.node().placing.durable.shared.str(), "0,7");
  node_.create(exclusive("rest", 1));
  node_.run(wish("pair", {{"a", "2"}, {"b", "4"}}));
  EXPECT_EQ(node_.assigned("pair", "a").size(), 2);
  EXPECT_EQ(node_.assigned("pair", "b").size(), 4);
  EXPECT_FALSE(is_resizing(node_.pod("pair").record));
  EXPECT_FALSE(state("pair").under_way.has_value());
}

TEST_F(ResizingTest, ACheckpointThatCannotBeSavedTakesTheDecisionBack) {
  node_.create(exclusive("db", 2));
  node_.send(wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  ASSERT_TRUE(node_.node().placing.saving.is_asked());
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision, .error = kNoSpace});
  EXPECT_EQ(node_.assigned("db", "main").size(), 2);
  EXPECT_TRUE(node_.pod("db").record.wish.has_value());
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
  node_.run(TimerFired{.timer = {TimerKey::Kind::kSaveRetry, {}}});
  EXPECT_EQ(node_.assigned("db", "main").size(), 4);
  EXPECT_FALSE(node_.pod("db").record.wish.has_value());
}

TEST_F(ResizingTest, AWishThatCannotBeSavedIsNone) {
  node_.create(exclusive("db", 2));
  node_.send(wish("db", {{"main", "4"}}));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db", .error = kNoSpace}),
              Contains("reply 9 no space left"));
  EXPECT_FALSE(node_.pod("db").record.wish.has_value());
  EXPECT_EQ(node_.pod("db").record.generation, 1U);
  EXPECT_EQ(node_.assigned("db", "main").size(), 2);
}

TEST_F(ResizingTest, SomethingElseAskedForWhileTheFirstIsBeingSavedComesNext) {
  node_.create(exclusive("db", 2));
  node_.send(wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  ASSERT_TRUE(node_.node().placing.saving.is_asked());
  const std::uint64_t revision = node_.node().placing.revision;
  node_.send(wish("db", {{"main", "2"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.run(CheckpointSaved{.revision = revision});
  node_.run(PodSaved{.uid = "db"});
  EXPECT_EQ(node_.assigned("db", "main").str(), "2-3");
  EXPECT_FALSE(node_.pod("db").record.wish.has_value());
}

TEST_F(ResizingTest, AContainerThatAsksForItIsStartedAgain) {
  Pod pod = exclusive("db", 2);
  pod.containers[0].resize_policy["cpu"] = "RestartContainer";
  node_.create(pod);
  EXPECT_THAT(resize("db", "4"), Contains("stop db/main 30s"));
  EXPECT_TRUE(is_resizing(node_.pod("db").record));
  EXPECT_THAT(node_.exit("db", "main", 143), Contains("start db/main#1 on 2-5"));
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
  EXPECT_FALSE(node_.pod("db").containers.at("main").stage == Stage::kBackingOff);
}

TEST_F(ResizingTest, AContainerThatIsRestartedHasItsTimeToStop) {
  Pod pod = exclusive("db", 2);
  pod.containers[0].resize_policy["cpu"] = "RestartContainer";
  node_.create(pod);
  EXPECT_THAT(resize("db", "4"), Contains("stop db/main 30s"));
  EXPECT_EQ(node_.pod("db").containers.at("main").stage, Stage::kRestarting);
}

TEST_F(ResizingTest, MemoryIsPassedOnAndAsksForARestartOnItsOwnAccount) {
  Pod pod = exclusive("db", 2);
  pod.containers[0].resize_policy["cpu"] = "RestartContainer";
  node_.create(pod);
  const auto lines = node_.run(wish("db", {{"main", "2Gi"}}, kMemory));
  EXPECT_THAT(lines, Contains("set db/main to 2-3"));
  EXPECT_THAT(lines, Not(Contains("stop db/main 30s")));
  EXPECT_EQ(node_.placed("db").containers.at("main").limits->memory_limit, std::int64_t{2} << 30);
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
}

// As the runtime refuses a memory limit: everything else is as it was asked for.
const Error kUsesMore{Code::kConflict, "memory limit (5) below current usage (9)"};

TEST_F(ResizingTest, AMemoryLimitBelowWhatIsUsedIsTriedAgainAndHoldsUpNobody) {
  node_.create(pod_of("web", {"main cpu=100m..2 memory=1Gi..2Gi"}));
  node_.send(wish("web", {{"main", "1Gi"}}, kMemory));
  node_.send(PodSaved{.uid = "web"});
  node_.send(PodSaved{.uid = "web"});
  node_.take_counts();
  node_.take_events();
  const CpuSet all = cpus("0-7");
  EXPECT_THAT(
      node_.send(CpusetFailed{.container = {"web", "main"}, .cpus = all, .error = kUsesMore}),
      Contains("timer retry web/main 1s"));
  EXPECT_THAT(node_.take_events(), Contains("ResizeError web/main"));
  EXPECT_THAT(node_.take_counts(), Not(Contains("corehold_cpuset_apply_failures_total")));
  EXPECT_TRUE(is_resizing(node_.pod("web").record));

  // Another pod gets its CPUs: they are free although the limit is still refused.
  node_.send(CreatePod{.pod = exclusive("db", 2)});
  node_.send(PodSaved{.uid = "db"});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(PodInfoWritten{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(SharedCpusApplied{cpus("0-1,4-7")}), Contains("start db/main#0 on 2-3"));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kRetry, {"web", "main"}}}),
              Contains("set web/main to 0-1,4-7"));
  node_.send(
      CpusetFailed{.container = {"web", "main"}, .cpus = cpus("0-1,4-7"), .error = kUsesMore});
  EXPECT_TRUE(is_resizing(node_.pod("web").record));
  node_.send(TimerFired{{TimerKey::Kind::kRetry, {"web", "main"}}});
  node_.send(CpusetApplied{.container = {"web", "main"}, .cpus = cpus("0-1,4-7")});
  EXPECT_FALSE(is_resizing(node_.pod("web").record));
}

TEST_F(ResizingTest, AMemoryLimitBelowWhatIsUsedComesWithARestartThatWasAskedFor) {
  Pod pod = pod_of("web", {"main cpu=100m..2 memory=1Gi..2Gi"});
  pod.containers[0].resize_policy["memory"] = "RestartContainer";
  node_.create(pod);
  node_.send(wish("web", {{"main", "1Gi"}}, kMemory));
  node_.send(PodSaved{.uid = "web"});
  node_.send(PodSaved{.uid = "web"});
  EXPECT_THAT(node_.send(CpusetFailed{
                  .container = {"web", "main"}, .cpus = cpus("0-7"), .error = kUsesMore}),
              Contains("stop web/main 30s"));
}

TEST_F(ResizingTest, PodsOnSharedCpusOnlyCountOtherwise) {
  node_.create(pod_of("web", {"main cpu=500m..1500m"}));
  node_.create(pod_of("frac", {"main cpu=1500m memory=1Gi"}));
  const State before = node_.node().placing.durable;
  for (const char* uid : {"web", "frac"}) {
    EXPECT_THAT(node_.run(wish(uid, {{"main", "2500m"}})),
                ElementsAre("save " + std::string(uid), "reply 9", "save " + std::string(uid),
                            "set " + std::string(uid) + "/main to 0-7", "save " + std::string(uid),
                            "podinfo " + std::string(uid)));
  }
  EXPECT_EQ(node_.placed("frac").containers.at("main").limits->quota, 2500);
  EXPECT_EQ(node_.node().placing.durable.pods, before.pods);
}

TEST_F(ResizingTest, ALimitBeyondAnyMachineLimitsNothing) {
  node_.create(pod_of("web", {"main cpu=500m..1500m memory=1Gi..2Gi"}));
  ResizePod command = wish("web", {});
  ResourceList& limits = command.pod.containers[0].resources.limits;
  limits["cpu"] = *Quantity::parse("9e15");
  limits["memory"] = *Quantity::parse("8Ei");
  node_.run(command);
  const auto in_force = [&] { return *node_.placed("web").containers.at("main").limits; };
  EXPECT_EQ(in_force().quota, 0);
  EXPECT_EQ(in_force().memory_limit, std::numeric_limits<std::int64_t>::max());
  limits["cpu"] = Quantity::of(kMaxCpus);
  node_.run(command);
  EXPECT_EQ(in_force().quota, std::int64_t{kMaxCpus} * 1000);
}

TEST_F(ResizingTest, APodThatWaitsForRoomJustAsksForSomethingElse) {
  node_.create(exclusive("big", 6));
  node_.create(exclusive("next", 2));
  ASSERT_FALSE(is_admitted(node_.placed("next")));
  resize("next", "1");
  EXPECT_TRUE(is_admitted(node_.placed("next")));
  EXPECT_EQ(node_.assigned("next", "main").size(), 1);
  EXPECT_EQ(node_.pod("next").record.generation, 2U);
}

TEST_F(ResizingTest, LabelsCanBeChangedWhileAResizeWaits) {
  node_.create(exclusive("db", 2));
  node_.create(exclusive("mq", 4));
  resize("db", "6");
  UpdatePod edit{.pod = wanted_pod(node_.pod("db").record), .request = 3};
  edit.pod.labels["a"] = "b";
  EXPECT_THAT(node_.run(edit), Contains("reply 3"));
  EXPECT_EQ(node_.pod("db").record.pod.labels.at("a"), "b");
  EXPECT_EQ(node_.pod("db").record.pod.containers[0].request(kCpu).str(), "2");
  EXPECT_EQ(wanted_pod(node_.pod("db").record).containers[0].request(kCpu).str(), "6");
}

TEST_F(ResizingTest, FilesFollowLabelsOnceTheyAreInTheStoreAlsoDuringAResize) {
  node_.create(exclusive("db", 2));
  const auto relabel = [&](const std::string& value) {
    UpdatePod edit{.pod = wanted_pod(node_.pod("db").record), .request = 3};
    edit.pod.labels["a"] = value;
    return edit;
  };
  EXPECT_THAT(node_.run(relabel("b")), ElementsAre("save db", "reply 3", "podinfo db main=2-3"));
  resize("db", "4");
  node_.rules().scale_delay = std::chrono::seconds(5);
  resize("db", "2");
  EXPECT_THAT(node_.run(relabel("c")), ElementsAre("save db", "reply 3", "podinfo db main=2-3"));
  EXPECT_TRUE(is_resizing(node_.pod("db").record));

  // One that the store refuses is never told.
  node_.send(relabel("d"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db", .error = kNoSpace}),
              Not(Contains("podinfo db main=2-3")));
  EXPECT_EQ(node_.pod("db").record.pod.labels.at("a"), "c");
}

TEST_F(ResizingTest, FilesSayTheAmountsThatAContainerHas) {
  node_.create(exclusive("db", 2));
  EXPECT_THAT(node_.run(wish("db", {{"main", "2Gi"}}, kMemory)),
              ElementsAre("save db", "reply 9", "save db", "set db/main to 2-3", "save db",
                          "podinfo db main=2-3"));
}

TEST_F(ResizingTest, NothingElseCanBeChangedByAResize) {
  node_.create(exclusive("db", 2));
  ResizePod command = wish("db", {{"main", "4"}});
  command.pod.containers[0].resize_policy["cpu"] = "RestartContainer";
  EXPECT_THAT(node_.run(command),
              ElementsAre("reply 9 a resize changes resources and nothing else"));
}

TEST_F(ResizingTest, PodLevelResourcesCanBeAskedForAndAreNeverGranted) {
  const auto amounts = [](const char* cpus) {
    return Resources{.limits = {{"cpu", *Quantity::parse(cpus)}}};
  };
  Pod db = exclusive("db", 2);
  db.resources = amounts("4");
  node_.create(db);
  ResizePod command = wish("db", {});
  command.pod.resources = amounts("5");
  node_.run(command);
  EXPECT_EQ(node_.placed("db").resize.verdict, ResizeVerdict::kInfeasible);
  EXPECT_THAT(node_.placed("db").resize.message,
              HasSubstr("pods with pod-level resources cannot be resized"));
  EXPECT_EQ(wanted_pod(node_.pod("db").record).resources, amounts("5"));
  EXPECT_EQ(node_.pod("db").record.pod.resources, amounts("4"));
  // Taken back, there is nothing to be said.
  command.pod.resources = amounts("4");
  node_.run(command);
  EXPECT_FALSE(node_.pod("db").record.wish);
  // Whoever waits asks for what they like.
  node_.run(SetCordon{.cordoned = true});
  Pod late = exclusive("late", 2);
  late.resources = amounts("60");
  node_.create(late);
  command = wish("late", {});
  command.pod.resources = amounts("61");
  node_.run(command);
  EXPECT_EQ(node_.pod("late").record.pod.resources, amounts("61"));
}

TEST_F(ResizingTest, ADeletedPodIsNotResizedAnyMore) {
  node_.create(exclusive("db", 2));
  node_.create(exclusive("mq", 4));
  resize("mq", "6");
  resize("db", "3");
  node_.run(DeletePod{.uid = "mq", .grace = seconds(0)});
  node_.exit("mq", "main", 0);
  EXPECT_EQ(node_.assigned("db", "main").size(), 3);
  EXPECT_FALSE(node_.node().placing.bookings.cpus.pods.contains("mq"));
}

TEST_F(ResizingTest, AShrinkThatAnAgentLeftHalfDoneIsTheSameOneForTheNext) {
  node_.create(exclusive("db", 2));
  resize("db", "6");
  node_.send(wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  const CpuSet kept = state("db").under_way->containers.at(0).after;
  node_.send(PodSaved{.uid = "db"});
  node_.restart();
  EXPECT_EQ(node_.assigned("db", "main"), kept);
  EXPECT_FALSE(is_resizing(node_.pod("db").record));
}

TEST_F(ResizingTest, OneThatDoesNotRunShrinksAtOnce) {
  Pod pod = pod_of("pair", {"a cpu=2 memory=1Gi", "b cpu=1 memory=1Gi"});
  pod.restart_policy = "Never";
  node_.create(pod);
  node_.run(wish("pair", {{"a", "4"}}));
  node_.exit("pair", "a", 0);
  node_.run(wish("pair", {{"a", "2"}, {"b", "4"}}));
  EXPECT_EQ(node_.assigned("pair", "a").size(), 2);
  EXPECT_EQ(node_.assigned("pair", "b").size(), 4);
  EXPECT_FALSE(is_resizing(node_.pod("pair").record));
}

TEST_F(ResizingTest, OneThatHoldsCpusAndLacksOthersIsNotGrantedUnchecked) {
  node_.create(exclusive("db", 2));
  node_.node().placing.pods.at("db").standing =
      Standing::kWaiting;  // as after the CPUs of a part of it were lost
  node_.run(wish("db", {{"main", "2500m"}}));
  EXPECT_EQ(node_.placed("db").resize.verdict, ResizeVerdict::kInfeasible);
  EXPECT_EQ(node_.pod("db").record.pod.containers[0].request(kCpu).str(), "2");
}

TEST_F(ResizingTest, WithoutItsGateNobodyWithExclusiveCpusIsResized) {
  ManagerRules off = node_.rules();
  off.resize.exclusive_cpus = false;
  node_.create(exclusive("db", 2));
  NodeState state = node_.node();
  Outcome outcome = step(off, std::move(state), wish("db", {{"main", "4"}}), node_.time());
  outcome = step(off, std::move(outcome.node), PodSaved{.uid = "db"}, node_.time());
  EXPECT_EQ(outcome.node.placing.pods.at("db").resize.verdict, ResizeVerdict::kInfeasible);
  EXPECT_THAT(outcome.node.placing.pods.at("db").resize.message,
              HasSubstr("InPlacePodVerticalScalingExclusiveCPUs"));
}

// Neither what the files say nor how far the container got is known: it is told of nothing that it
// may not have.
TEST_F(ResizingTest, AfterTwoFailuresFilesListOnlyWhatTheContainerSurelyHas) {
  node_.create(pod_of("db", {"main cpu=2 memory=1Gi"}));
  const CpuSet before = node_.assigned("db", "main");
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(PodSaved{.uid = "db"});
  const CpuSet after = node_.assigned("db", "main");
  ASSERT_EQ(after.size(), 4);
  const Error error{Code::kIo, "no"};
  node_.send(CpusetFailed{.container = {"db", "main"}, .cpus = after, .error = error});
  node_.node().placing.pods.at("db").files.told.reset();
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kRetry, {"db", ""}}}),
              Contains(fmt::format("podinfo db main={}", before.str())));
}

}  // namespace
}  // namespace corehold
