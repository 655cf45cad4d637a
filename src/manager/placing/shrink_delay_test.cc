// SPDX-License-Identifier: Apache-2.0
//
// The delay between being told and losing CPUs: when it begins, what ends it, whose it is,
// and what is said of it.
#include "manager/placing/shrink_delay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/scale_delay.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Error kDiskFull{Code::kIo, "no space left"};
const ContainerRef kMain{"db", "main"};
const TimerFired kFired{.timer = {TimerKey::Kind::kDelay, kMain}};

// CPUs 0-7, CPU 0 reserved, a delay of five seconds. db was given 2-3 and has grown to 2-7.
class DelayTest : public testing::Test {
 protected:
  DelayTest() {
    node_.rules().scale_delay = seconds(5);
    node_.create(pod_of("db", {"main cpu=2 memory=1Gi"}));
    node_.resize("db", "6");
    node_.take_events();
    node_.take_counts();
  }

  std::string assigned() const { return node_.assigned("db", "main").str(); }
  std::string runs_on() const { return container().confirmed.str(); }
  const PlacedContainer& container() const { return node_.placed("db").containers.at("main"); }
  const PodRecord& record() const { return node_.pod("db").record; }
  bool is_delayed() const {
    return container().shrink && container().shrink->told_at && !container().shrink->is_due;
  }
  // The annotation says so from now on.
  void annotate(const std::string& delay) {
    UpdatePod edit{.pod = wanted_pod(record())};
    edit.pod.annotations[kScaleDelayAnnotation] = delay;
    node_.run(edit);
  }
  std::vector<std::string> expire(milliseconds delay = seconds(5)) {
    node_.wait(delay);
    return node_.run(kFired);
  }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(DelayTest, WhoShrinksIsToldAtOnceAndLosesItsCpusWhenTheDelayIsOver) {
  EXPECT_THAT(node_.resize("db", "4"),
              ElementsAre("save db", "reply 9", "podinfo db main=2-5", "save db",
                          "set db/main to 2-7", "timer delay db/main 5s"));
  EXPECT_THAT(node_.take_events(), ElementsAre("ResizeStarted db", "ScaleDelayStarted db/main"));
  EXPECT_EQ(assigned(), "2-7");
  EXPECT_THAT(expire(),
              ElementsAre("set db/main to 2-5", "persist shared 0-1,6-7 db/main 2-5", "save db"));
  EXPECT_THAT(node_.take_events(), ElementsAre("ScaleDelayTimerFired db/main",
                                               "CpusetApplied db/main", "ResizeCompleted db"));
}

TEST_F(DelayTest, BeginsWhenTheFilesAreConfirmed) {
  node_.send(node_.wish("db", {{"main", "4"}}));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}),
              ElementsAre("reply 9", "podinfo db main=2-5", "save db", "set db/main to 2-7"));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-7")}), IsEmpty());
  node_.wait(seconds(60));
  EXPECT_FALSE(is_delayed());
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), ElementsAre("timer delay db/main 5s"));
}

TEST_F(DelayTest, IsNotOverBeforeItsTimeWhateverTimerFires) {
  node_.resize("db", "4");
  node_.wait(milliseconds(4999));
  EXPECT_THAT(node_.send(kFired), ElementsAre("timer delay db/main 0.001s"));
  EXPECT_EQ(runs_on(), "2-7");
  node_.wait(milliseconds(1));
  EXPECT_THAT(node_.send(kFired), Contains("set db/main to 2-5"));
}

TEST_F(DelayTest, AnotherShrinkReplacesThePendingOneAndStartsItAnew) {
  node_.resize("db", "4");
  node_.wait(seconds(4));
  EXPECT_THAT(node_.resize("db", "3"),
              ElementsAre("save db", "reply 9", "podinfo db main=2-4", "cancel delay db/main",
                          "save db", "set db/main to 2-7", "timer delay db/main 5s"));
  EXPECT_THAT(expire(seconds(4)), ElementsAre("timer delay db/main 1s"));
  EXPECT_EQ(runs_on(), "2-7");
  expire(seconds(1));
  EXPECT_EQ(runs_on(), "2-4");
  EXPECT_EQ(assigned(), "2-4");
}

TEST_F(DelayTest, AGrowthToWhatItHasCancelsIt) {
  node_.resize("db", "4");
  EXPECT_THAT(node_.resize("db", "6"), Contains("cancel delay db/main"));
  EXPECT_FALSE(is_resizing(record()));
  EXPECT_EQ(node_.placed("db").files.told->at("main").cpus.str(), "2-7");
  EXPECT_THAT(expire(), IsEmpty());
  EXPECT_EQ(assigned(), "2-7");
}

TEST_F(DelayTest, AGrowthBeyondWhatItHasCancelsItAndIsAppliedAtOnce) {
  node_.resize("db", "4");
  EXPECT_THAT(node_.resize("db", "7"), Contains("cancel delay db/main"));
  EXPECT_EQ(runs_on(), "1-7");
  EXPECT_EQ(node_.placed("db").files.told->at("main").cpus.str(), "1-7");
  EXPECT_FALSE(is_resizing(record()));
  EXPECT_THAT(expire(), IsEmpty());
}

TEST_F(DelayTest, AGrowthThatIsBeingSavedCancelsItAlready) {
  node_.resize("db", "4");
  node_.send(node_.wish("db", {{"main", "7"}}));
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), Contains("cancel delay db/main"));
  ASSERT_TRUE(node_.node().placing.saving.is_asked());
  node_.wait(seconds(60));
  EXPECT_THAT(node_.send(kFired), IsEmpty());
  // Taken back, the shrink is wanted again, with the whole delay.
  EXPECT_THAT(
      node_.send(CheckpointSaved{.revision = node_.node().placing.revision, .error = kDiskFull}),
      Contains("timer delay db/main 5s"));
}

TEST_F(DelayTest, AGrowthToLessThanItHasIsASmallerShrinkWithADelayOfItsOwn) {
  node_.resize("db", "3");
  node_.wait(seconds(4));
  EXPECT_THAT(node_.resize("db", "5"),
              ElementsAre("save db", "reply 9", "podinfo db main=2-6", "cancel delay db/main",
                          "save db", "set db/main to 2-7", "timer delay db/main 5s"));
  expire();
  EXPECT_EQ(runs_on(), "2-6");
}

TEST_F(DelayTest, AResizeThatIsRefusedLeavesItAlone) {
  node_.resize("db", "4");
  EXPECT_THAT(node_.resize("db", "1"), ElementsAre("save db", "reply 9"));
  EXPECT_EQ(node_.placed("db").resize.verdict, ResizeVerdict::kInfeasible);
  expire();
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, DeletingThePodCancelsIt) {
  node_.resize("db", "4");
  EXPECT_THAT(node_.run(DeletePod{.uid = "db", .grace = seconds(30)}),
              Contains("cancel delay db/main"));
  EXPECT_THAT(expire(), IsEmpty());
  EXPECT_EQ(runs_on(), "2-7");
  node_.exit("db", "main", 0);
  EXPECT_EQ(node_.node().placing.durable.shared.str(), "0-7");
}

TEST_F(DelayTest, GrowingIsNeverDelayed) {
  node_.create(pod_of("mq", {"main cpu=1 memory=1Gi"}));
  node_.resize("db", "4");
  expire();
  for (const std::string& line : node_.resize("mq", "2")) {
    EXPECT_THAT(line, Not(HasSubstr("delay")));
  }
  EXPECT_EQ(node_.placed("mq").containers.at("main").confirmed.size(), 2);
}

TEST_F(DelayTest, ANewAgentTellsTheSameAndWaitsTheWholeDelayAgain) {
  node_.resize("db", "4");
  node_.wait(milliseconds(4900));
  const auto lines = node_.restart();
  EXPECT_THAT(lines, Contains("podinfo db main=2-5"));
  EXPECT_THAT(lines, Contains("timer delay db/main 5s"));
  EXPECT_THAT(expire(seconds(4)), ElementsAre("timer delay db/main 1s"));
  expire(seconds(1));
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, ANewAgentThatHasToSaveThePodFirstTellsNothingElseMeanwhile) {
  node_.resize("db", "4");
  Recover found{.pods = {record()}, .cpus = node_.node().placing.durable};
  found.seen = {{.container = kMain,
                 .running = true,
                 .cpus = container().confirmed,
                 .started_at = record().containers.at("main").started_at + seconds(1)}};
  std::vector<std::string> lines = node_.recover(std::move(found));
  for (std::string& line : node_.run_answers()) lines.push_back(std::move(line));
  EXPECT_THAT(lines, Contains("timer delay db/main 5s"));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("podinfo "); });
  EXPECT_THAT(lines, ElementsAre("podinfo db main=2-5"));
}

TEST_F(DelayTest, ANewAgentDoesNotGiveBackWhatWasLeftAlready) {
  node_.resize("db", "4");
  node_.wait(seconds(5));
  node_.send(kFired);
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-5")});
  ASSERT_EQ(node_.node().placing.durable.find(kMain)->assigned.str(), "2-7");
  EXPECT_THAT(node_.restart(), Not(Contains("set db/main to 2-7")));
  expire();
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, TheWeightChangesAtOnceAndTheRestWhenItIsApplied) {
  node_.resize("db", "4");
  EXPECT_EQ(container().limits->cpu_shares, 4 * 1024);
  EXPECT_EQ(record().pod.containers[0].request(kCpu).str(), "4");
  EXPECT_EQ(record().containers.at("main").actual->requests.at("cpu").str(), "6");
  EXPECT_TRUE(is_resizing(record()));
  node_.wait(seconds(5));
  node_.send(kFired);
  EXPECT_TRUE(is_resizing(record()));
  node_.run(CpusetApplied{.container = kMain, .cpus = cpus("2-5")});
  EXPECT_FALSE(is_resizing(record()));
  EXPECT_FALSE(record().containers.at("main").actual.has_value());
}

TEST_F(DelayTest, NobodyElseGetsTheCpusBeforeTheRuntimeHasConfirmed) {
  node_.resize("db", "4");
  node_.create(pod_of("mq", {"main cpu=2 memory=1Gi"}));
  node_.create(pod_of("web", {"main cpu=100m"}));
  EXPECT_FALSE(is_admitted(node_.placed("mq")));
  node_.wait(seconds(5));
  EXPECT_THAT(node_.send(kFired), ElementsAre("set db/main to 2-5"));
  EXPECT_EQ(assigned(), "2-7");
  EXPECT_FALSE(is_admitted(node_.placed("mq")));
  EXPECT_EQ(node_.node().placing.pool.confirmed->str(), "0-1");
  const auto lines = node_.run(CpusetApplied{.container = kMain, .cpus = cpus("2-5")});
  EXPECT_THAT(lines, Contains("start mq/main#0 on 6-7"));
}

TEST_F(DelayTest, FilesThatCannotBeWrittenAreTriedAgainAndThatIsShown) {
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-7")});
  const PodInfoWritten failed{.uid = "db", .error = kDiskFull};
  EXPECT_THAT(node_.send(failed), ElementsAre("timer retry db 1s"));
  EXPECT_THAT(node_.take_events(), Contains("ResizeError db"));
  EXPECT_EQ(node_.placed("db").resize.errors.at(""), "cannot write the pod's files: no space left");
  EXPECT_FALSE(is_delayed());
  const TimerFired retry{.timer = {TimerKey::Kind::kRetry, {"db", ""}}};
  node_.send(retry);
  EXPECT_THAT(node_.send(failed), ElementsAre("timer retry db 2s"));
  EXPECT_THAT(node_.run(retry), ElementsAre("podinfo db main=2-5", "timer delay db/main 5s"));
  EXPECT_THAT(node_.placed("db").resize.errors, IsEmpty());
  expire();
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, FilesListNothingThatAGrowthHasNotBroughtYet) {
  node_.resize("db", "2");
  expire();
  node_.create(pod_of("web", {"main cpu=500m"}));
  // Somebody who shares cannot be moved off the CPUs that db grows by.
  node_.send(node_.wish("db", {{"main", "6"}}));
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(CheckpointSaved{.revision = node_.node().placing.revision}),
              Contains("share 0-1"));
  node_.send(PodSaved{.uid = "db"});
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-3")});
  node_.send(SharedCpusFailed{.cpus = cpus("0-1"), .error = kDiskFull});
  ASSERT_EQ(assigned(), "2-7");
  ASSERT_EQ(runs_on(), "2-3");

  node_.resize("db", "4");
  EXPECT_EQ(node_.placed("db").files.told->at("main").cpus, cpus("2-3")) << "it cannot use 4-5 yet";
  EXPECT_TRUE(is_delayed());
  const TimerFired retry{.timer = {TimerKey::Kind::kRetry, {}}};
  EXPECT_THAT(node_.run(retry),
              ElementsAre("share 0-1", "set db/main to 2-5", "podinfo db main=2-5"));
  expire();
  EXPECT_EQ(assigned(), "2-5");
  EXPECT_EQ(runs_on(), "2-5");
  EXPECT_FALSE(is_resizing(record()));
}

TEST_F(DelayTest, CpusThatCannotBeTakenAreTriedAgainAndStayHeld) {
  node_.resize("db", "4");
  node_.wait(seconds(5));
  node_.send(kFired);
  node_.take_events();
  const CpusetFailed failed{.container = kMain, .cpus = cpus("2-5"), .error = kDiskFull};
  EXPECT_THAT(node_.send(failed), ElementsAre("timer retry db/main 1s"));
  EXPECT_THAT(node_.take_events(), ElementsAre("FailedCpuset db/main", "ResizeError db/main"));
  EXPECT_EQ(node_.placed("db").resize.errors.at("main"),
            "cannot set the CPUs of container main to 2-5: no space left");
  EXPECT_EQ(assigned(), "2-7");
  const TimerFired retry{.timer = {TimerKey::Kind::kRetry, kMain}};
  EXPECT_THAT(node_.send(retry), ElementsAre("set db/main to 2-5"));
  EXPECT_THAT(node_.send(failed), ElementsAre("timer retry db/main 2s"));
  EXPECT_THAT(node_.run(retry), Contains("persist shared 0-1,6-7 db/main 2-5"));
  EXPECT_THAT(node_.placed("db").resize.errors, IsEmpty());
  EXPECT_FALSE(is_resizing(record()));
}

TEST_F(DelayTest, IsThePodsOwnIfItHasOne) {
  annotate("250ms");
  EXPECT_THAT(node_.resize("db", "4"), Contains("timer delay db/main 0.25s"));
  expire(milliseconds(250));
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, IsOffForAPodThatSaysSo) {
  annotate("off");
  EXPECT_THAT(node_.resize("db", "4"), Contains("persist shared 0-1,6-7 db/main 2-5"));
  EXPECT_EQ(runs_on(), "2-5");
}

TEST_F(DelayTest, OfAPodsOwnNeedsNoneOfTheNode) {
  node_.rules().scale_delay = {};
  annotate("10s");
  EXPECT_THAT(node_.resize("db", "4"), Contains("timer delay db/main 10s"));
  expire(seconds(10));
  EXPECT_EQ(assigned(), "2-5");
}

TEST_F(DelayTest, ThatNobodyCanReadIsTheNodes) {
  annotate("soon");
  EXPECT_THAT(node_.resize("db", "4"), Contains("timer delay db/main 5s"));
  EXPECT_THAT(node_.take_events(), Contains("InvalidScaleDelay db/main"));
}

TEST_F(DelayTest, ThatHasBegunKeepsItsLength) {
  node_.resize("db", "4");
  annotate("off");
  EXPECT_TRUE(is_delayed());
  EXPECT_THAT(expire(seconds(4)), ElementsAre("timer delay db/main 1s"));
  // The next has the new one.
  node_.resize("db", "3");
  EXPECT_EQ(assigned(), "2-4");
}

TEST_F(DelayTest, ThatTheStoreDoesNotHaveIsNone) {
  UpdatePod edit{.pod = wanted_pod(record())};
  edit.pod.annotations[kScaleDelayAnnotation] = "off";
  node_.send(edit);
  EXPECT_EQ(scale_delay_of(node_.rules(), node_.placed("db")), seconds(5));
  node_.send(PodSaved{.uid = "db"});
  EXPECT_EQ(scale_delay_of(node_.rules(), node_.placed("db")), milliseconds(0));
}

TEST_F(DelayTest, IsMeasured) {
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  node_.wait(milliseconds(3));
  const auto observed = [&](const Command& command, const std::string& name) {
    const Outcome outcome = step(node_.rules(), node_.node(), command, node_.time());
    double found = -1;
    for (const Effect& effect : outcome.effects) {
      const auto* metric = std::get_if<CountMetric>(&effect);
      if (metric != nullptr && metric->name == name) found = metric->observed.value();
    }
    return found;
  };
  const PodInfoWritten written{.uid = "db"};
  EXPECT_DOUBLE_EQ(observed(written, "corehold_scale_delay_notify_seconds"), 0.003);
  node_.send(written);
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-7")});
  node_.wait(milliseconds(5001));
  node_.send(kFired);
  node_.wait(milliseconds(1));
  const CpusetApplied applied{.container = kMain, .cpus = cpus("2-5")};
  EXPECT_DOUBLE_EQ(observed(applied, "corehold_scale_delay_overshoot_seconds"), 0.002);
  node_.take_counts();
  node_.run(applied);
  EXPECT_THAT(node_.take_counts(), Not(Contains("corehold_told_after_taken_total")));
}

// What the watch says of a manager that takes too early, made by hand.
TEST_F(DelayTest, TakingTooEarlyIsCounted) {
  node_.resize("db", "4");
  node_.wait(seconds(4));
  PlacedContainer& state = node_.node().placing.pods.at("db").containers.at("main");
  state.shrink->is_due = true;
  node_.run(TimerFired{.timer = {TimerKey::Kind::kRetry, kMain}});
  EXPECT_THAT(node_.take_counts(), Contains("corehold_told_after_taken_total"));
  EXPECT_THAT(node_.take_events(), Contains("ToldAfterTaken db/main"));
}

TEST_F(DelayTest, TakingUntoldIsCounted) {
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-7")});
  PlacedContainer& state = node_.node().placing.pods.at("db").containers.at("main");
  state.shrink->told_at = node_.time().steady;
  state.shrink->is_due = true;
  node_.send(TimerFired{.timer = {TimerKey::Kind::kRetry, kMain}});
  node_.send(CpusetApplied{.container = kMain, .cpus = cpus("2-5")});
  EXPECT_THAT(node_.take_counts(), Contains("corehold_told_after_taken_total"));
}

TEST_F(DelayTest, WithTheGateOffTheResizeIsRefusedAndNothingMoves) {
  node_.resize("db", "4");
  const State before = node_.node().placing.durable;
  node_.rules().resize.exclusive_cpus = false;
  node_.rules().scale_delay = {};
  const std::vector<std::string> done = node_.restart();
  EXPECT_THAT(done, Contains("podinfo db main=2-7"));
  EXPECT_THAT(done, Not(Contains("podinfo db main=2-5")));
  EXPECT_EQ(node_.placed("db").resize.verdict, ResizeVerdict::kInfeasible);
  EXPECT_THAT(node_.placed("db").resize.message,
              HasSubstr("InPlacePodVerticalScalingExclusiveCPUs"));
  EXPECT_FALSE(is_resizing(record()));
  EXPECT_EQ(record().pod.containers[0].request(kCpu).str(), "6");
  EXPECT_EQ(record().pod.containers[0].limit(kCpu).str(), "6");
  EXPECT_EQ(wanted_pod(record()).containers[0].request(kCpu).str(), "4");
  EXPECT_EQ(runs_on(), "2-7");
  EXPECT_EQ(node_.placed("db").files.told->at("main").cpus.str(), "2-7");
  EXPECT_EQ(node_.node().placing.durable.pods, before.pods);
  EXPECT_EQ(node_.node().placing.durable.find(kMain)->promised.str(), "2-3");

  node_.rules().resize.exclusive_cpus = true;
  node_.rules().scale_delay = seconds(5);
  EXPECT_THAT(node_.restart(), Contains("timer delay db/main 5s"));
  EXPECT_EQ(node_.placed("db").files.told->at("main").cpus.str(), "2-5");
  expire();
  EXPECT_EQ(assigned(), "2-5");
  EXPECT_FALSE(record().wish.has_value());
}

}  // namespace
}  // namespace corehold
