// SPDX-License-Identifier: Apache-2.0
//
// Containers of somebody else: what a runtime that asks is answered, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// CPUs 0-7, CPU 0 reserved.
class AskingTest : public testing::Test {
 protected:
  AskingTest() { node_.rules().driver = Driver::kForeign; }

  static Pod db(const std::string& cpus = "2") {
    return pod_of("db", {"main cpu=" + cpus + " memory=1Gi"});
  }
  static Pod web() { return pod_of("web", {"main cpu=100m..2"}); }

  Asked ask(Ask::Kind kind, const Pod& pod, RequestId request, int attempt = 0) {
    return {.ask = {.kind = kind,
                    .container = {pod.uid, "main"},
                    .attempt = attempt,
                    .pod = std::make_shared<const Pod>(pod)},
            .request = request};
  }
  std::vector<std::string> run(Ask::Kind kind, const Pod& pod, RequestId request, int attempt = 0) {
    return node_.run(ask(kind, pod, request, attempt));
  }
  void start(const Pod& pod, int attempt = 0) {
    run(Ask::Kind::kCreate, pod, 100, attempt);
    run(Ask::Kind::kStart, pod, 101, attempt);
    node_.run(ContainerStarted{.container = {pod.uid, "main"}, .attempt = attempt});
  }
  static SeenContainer seen(const Pod& pod, const CpuSet& cpus, bool running = true) {
    SeenContainer container;
    container.container = {pod.uid, "main"};
    container.running = running;
    if (running) container.cpus = cpus;
    container.pod = std::make_shared<const Pod>(pod);
    return container;
  }
  Presence presence(const std::string& uid) {
    return node_.placed(uid).containers.at("main").presence;
  }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(AskingTest, AContainerMayBeMadeOnceItsCpusAreSaved) {
  EXPECT_THAT(node_.send(ask(Ask::Kind::kCreate, db(), 1)),
              ElementsAre("timer answer db/main 1s", "persist shared 0-1,4-7 db/main 2-3"));
  EXPECT_THAT(node_.run_answers(), Contains("reply 1 granted 2-3"));
}

TEST_F(AskingTest, ACheckpointThatCannotBeSavedGrantsNothing) {
  node_.send(ask(Ask::Kind::kCreate, db(), 1));
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision,
                                         .error = Error{Code::kIo, "full"}}),
              AllOf(Not(Contains(HasSubstr("granted"))), Not(Contains(HasSubstr("start")))));
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kAnswer, {"db", "main"}}}),
              Contains("reply 1 container main cannot have its CPUs yet; ask again"));
}

TEST_F(AskingTest, AContainerMayRunOnceTheOthersHaveLeftItsCpus) {
  start(web());
  run(Ask::Kind::kCreate, db(), 1);
  // The containers that share leave by the grant; until the kernel confirms it nothing starts.
  node_.node().placing.pool.confirmed = cpus("0-7");
  const auto lines = node_.send(ask(Ask::Kind::kStart, db(), 2));
  EXPECT_THAT(lines, Contains("share 0-1,4-7"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("reply 2"))));
  EXPECT_THAT(node_.send(SharedCpusApplied{.cpus = cpus("0-1,4-7")}),
              ElementsAre("reply 2 granted 2-3", "cancel answer db/main"));
  EXPECT_EQ(presence("db"), Presence::kStarting);
}

TEST_F(AskingTest, APodThatDoesNotFitIsRefusedAndMayAskAgain) {
  start(db("6"));
  const Pod other = pod_of("other", {"main cpu=3 memory=1Gi"});
  EXPECT_THAT(run(Ask::Kind::kCreate, other, 3), Contains(HasSubstr("reply 3 ")));
  EXPECT_FALSE(is_admitted(node_.placed("other")));
  node_.run(PodRemoved{.uid = "db"});
  EXPECT_THAT(run(Ask::Kind::kCreate, other, 4), Contains(HasSubstr("reply 4 granted")));
}

TEST_F(AskingTest, ARestartedContainerKeepsItsCpus) {
  start(db());
  node_.run(ContainerExited{.container = {"db", "main"}, .attempt = 0, .exit = {.code = 1}});
  EXPECT_EQ(presence("db"), Presence::kAbsent);
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  EXPECT_THAT(run(Ask::Kind::kCreate, db(), 5, 1), Contains("reply 5 granted 2-3"));
  EXPECT_THAT(run(Ask::Kind::kStart, db(), 6, 1), Contains("reply 6 granted 2-3"));
}

TEST_F(AskingTest, AnEndThatIsToldLateIsNotTheEndOfTheNextRun) {
  start(db());
  node_.run(Synchronized{.seen = {seen(db(), {}, false)}});
  start(db(), 1);
  node_.run(ContainerExited{.container = {"db", "main"}, .attempt = 0});
  EXPECT_EQ(presence("db"), Presence::kRunning);
}

TEST_F(AskingTest, AContainerWhoseLastRunMayGoOnIsNotStarted) {
  start(db());
  run(Ask::Kind::kCreate, db(), 7, 1);
  EXPECT_THAT(node_.send(ask(Ask::Kind::kStart, db(), 8, 1)), Not(Contains(HasSubstr("reply 8"))));
  EXPECT_THAT(node_.send(ContainerExited{.container = {"db", "main"}, .attempt = 0}),
              Contains("reply 8 granted 2-3"));
}

TEST_F(AskingTest, AResizeIsGrantedWhenTheContainerHasIt) {
  start(db());
  const auto lines = node_.send(ask(Ask::Kind::kResize, db("4"), 9));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("reply"))));
  EXPECT_THAT(node_.run_answers(),
              AllOf(Contains("set db/main to 2-5"), Contains("reply 9 granted 2-5")));
}

TEST_F(AskingTest, AShrinkIsRefusedWhileItsDelayLastsAndIsGrantedAfterwards) {
  node_.rules().scale_delay = std::chrono::seconds(5);
  start(db("4"));
  run(Ask::Kind::kResize, db("6"), 10);
  EXPECT_THAT(run(Ask::Kind::kResize, db("4"), 11),
              Contains("reply 11 in grace: CPUs 6-7 leave in 5.0 s"));
  node_.wait(std::chrono::seconds(5));
  node_.run(TimerFired{{TimerKey::Kind::kDelay, {"db", "main"}}});
  EXPECT_THAT(run(Ask::Kind::kResize, db("4"), 12), Contains("reply 12 granted 2-5"));
}

TEST_F(AskingTest, AResizeThatDoesNotFitIsRefusedWithItsReason) {
  start(db());
  EXPECT_THAT(run(Ask::Kind::kResize, db("100"), 13), Contains(HasSubstr("reply 13 ")));
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
}

TEST_F(AskingTest, AContainerThatIsNotKnownIsAdoptedAndNeverStopped) {
  const auto lines = node_.run(Synchronized{.seen = {seen(web(), cpus("0-7"))}});
  EXPECT_THAT(lines, Not(Contains(HasSubstr("stop"))));
  EXPECT_EQ(presence("web"), Presence::kRunning);
  node_.run(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  EXPECT_THAT(node_.run(Observed{.seen = {seen(web(), cpus("0-7")), seen(db(), cpus("0-7"))}}),
              Not(Contains(HasSubstr("stop"))));
  EXPECT_EQ(presence("db"), Presence::kRunning);
}

TEST_F(AskingTest, AnAdoptedContainerLeavesTheCpusOfOthers) {
  start(db());
  EXPECT_THAT(node_.run(Synchronized{.seen = {seen(db(), cpus("2-3")), seen(web(), cpus("0-7"))}}),
              Contains("set web/main to 0-1,4-7"));
}

TEST_F(AskingTest, WhatTheRuntimeHasNothingOfIsLetGo) {
  start(db());
  EXPECT_THAT(node_.run(Synchronized{}),
              AllOf(Contains("persist shared 0-7"), Contains("remove-files db")));
  EXPECT_TRUE(node_.node().placing.pods.empty());
  EXPECT_TRUE(node_.node().foreign.pods.empty());
}

TEST_F(AskingTest, QuestionsFromBeforeANewConnectionAreVoid) {
  node_.send(ask(Ask::Kind::kCreate, db(), 14));
  EXPECT_THAT(node_.send(Synchronized{.seen = {seen(db(), {}, false)}}),
              Contains("reply 14 the runtime has connected anew"));
}

TEST_F(AskingTest, ANewAgentFindsTheCpusOfRunningContainersInTheCheckpoint) {
  start(db());
  const State checkpoint = node_.node().placing.durable;
  node_.forget_everything();
  EXPECT_THAT(node_.run(Recover{.cpus = checkpoint,
                                .seen = {seen(db(), cpus("2-3")), seen(web(), cpus("0-1,4-7"))},
                                .online = cpus("0-7")}),
              AllOf(Contains("persist shared 0-1,4-7 db/main 2-3"),
                    Not(Contains(HasSubstr("set "))), Not(Contains(HasSubstr("stop")))));
  EXPECT_TRUE(is_admitted(node_.placed("db")));
}

TEST_F(AskingTest, AQuestionAboutAnUnknownPodWithoutTheWholePodIsRefused) {
  Asked asked = ask(Ask::Kind::kCreate, db(), 15);
  asked.ask.pod = nullptr;
  EXPECT_THAT(node_.send(asked),
              ElementsAre(HasSubstr("reply 15 pod db of container main is not")));
  EXPECT_THAT(node_.node().foreign.pods, IsEmpty());
}

TEST_F(AskingTest, AStopIsNeverHeldUp) {
  start(db());
  EXPECT_THAT(node_.send(ask(Ask::Kind::kStop, db(), 16)), ElementsAre("reply 16 granted "));
  EXPECT_EQ(presence("db"), Presence::kRunning);
}

TEST_F(AskingTest, ANodeThatRunsItsContainersItselfGrantsNothing) {
  node_.rules().driver = Driver::kRunning;
  EXPECT_THAT(node_.send(ask(Ask::Kind::kCreate, db(), 17)),
              ElementsAre(HasSubstr("reply 17 container main: this node runs its containers")));
  EXPECT_THAT(node_.send(Synchronized{}), ElementsAre("observe"));
}

TEST_F(AskingTest, APodGoesByTheUidOfTheRuntime) {
  Pod mirror = db();
  mirror.uid = "another";
  Asked asked = ask(Ask::Kind::kCreate, db(), 18);
  asked.ask.pod = std::make_shared<const Pod>(mirror);
  EXPECT_THAT(node_.run(asked), Contains("reply 18 granted 2-3"));
  asked.request = 19;
  asked.ask.kind = Ask::Kind::kStart;
  EXPECT_THAT(node_.run(asked), Contains("reply 19 granted 2-3"));
}

TEST_F(AskingTest, APodWithOtherContainersThanAreKnownChangesNothing) {
  SeenContainer unknown = seen(db(), cpus("0-7"));
  unknown.pod = nullptr;
  node_.run(Synchronized{.seen = {unknown}});
  const Pod complete = pod_of("db", {"init:prepare cpu=2 memory=1Gi", "main cpu=2 memory=1Gi"});
  EXPECT_THAT(run(Ask::Kind::kResize, complete, 20),
              Contains("reply 20 pod db is known with other containers; ask again"));
  EXPECT_THAT(run(Ask::Kind::kCreate, complete, 21, 1), Contains(HasSubstr("reply 21 ")));
}

TEST_F(AskingTest, AResizeThatWaitsIsNotGrantedAfterARestartOfTheAgent) {
  start(db());
  const Pod other = pod_of("other", {"main cpu=4 memory=1Gi"});
  start(other);
  const State checkpoint = node_.node().placing.durable;
  node_.forget_everything();
  node_.run(Recover{.cpus = checkpoint,
                    .seen = {seen(db("4"), cpus("2-3")), seen(other, cpus("4-7"))},
                    .online = cpus("0-7")});
  EXPECT_THAT(run(Ask::Kind::kResize, db("4"), 22),
              AllOf(Contains(HasSubstr("reply 22 ")), Not(Contains(HasSubstr("granted")))));
}

TEST_F(AskingTest, AContainerThatWasStartedWithoutAGrantKeepsOthersFromStarting) {
  run(Ask::Kind::kCreate, web(), 23);
  node_.run(ContainerStarted{.container = {"web", "main"}, .attempt = 0});
  EXPECT_THAT(node_.take_events(), Contains("UnexpectedContainer web/main"));
  EXPECT_EQ(presence("web"), Presence::kRunning);
}

TEST_F(AskingTest, ARunOfWhichNothingWasToldEndsWhenItsEndIsSeen) {
  run(Ask::Kind::kCreate, db(), 24);
  run(Ask::Kind::kStart, db(), 25);
  SeenContainer ended = seen(db(), {}, false);
  ended.exit = ContainerExit{.code = 0};
  node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  node_.run(Observed{.seen = {ended}});
  EXPECT_EQ(presence("db"), Presence::kAbsent);
}

// p has left CPUs of its init container, which is to run again and does not fit: p gives up what it
// has kept in the same turn in which first is admitted, and the checkpoint cannot be saved.
TEST_F(AskingTest, WhatAPodHasGivenUpIsItsOwnAgainWhenTheCheckpointCannotBeSaved) {
  const Pod p = pod_of("p", {"init:prepare cpu=4 memory=1Gi", "main cpu=2 memory=1Gi"});
  const auto of_init = [&](Ask::Kind kind, RequestId request, int attempt) {
    Asked asked = ask(kind, p, request, attempt);
    asked.ask.container.container = "prepare";
    return asked;
  };
  node_.run(of_init(Ask::Kind::kCreate, 30, 0));
  node_.run(of_init(Ask::Kind::kStart, 31, 0));
  node_.run(ContainerStarted{.container = {"p", "prepare"}, .attempt = 0});
  node_.run(ContainerExited{.container = {"p", "prepare"}, .attempt = 0, .exit = {.code = 0}});
  run(Ask::Kind::kCreate, pod_of("x", {"main cpu=3 memory=1Gi"}), 32);
  const CpuSet kept = node_.assigned("p", "main");
  ASSERT_EQ(kept.size(), 2);
  // The books are closed while y is saved, so that both are decided together afterwards.
  node_.send(ask(Ask::Kind::kCreate, pod_of("y", {"main cpu=1 memory=1Gi"}), 33));
  Pod first = pod_of("first", {"main cpu=1 memory=1Gi"});
  first.priority = 10;
  node_.send(of_init(Ask::Kind::kCreate, 34, 1));
  node_.send(ask(Ask::Kind::kCreate, first, 35));
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision});
  node_.send(CheckpointSaved{.revision = node_.node().placing.revision,
                             .error = Error{Code::kIo, "full"}});
  const State& books = node_.node().placing.bookings.cpus;
  CpuSet all = books.shared;
  for (const auto& [uid, containers] : books.pods) {
    for (const auto& [name, holding] : containers) all |= holding.assigned;
  }
  EXPECT_EQ(all, cpus("0-7"));
}

}  // namespace
}  // namespace corehold
