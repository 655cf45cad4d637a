// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/shell.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "agent/commit/testing.h"
#include "agent/shell/describe.h"
#include "agent/shell/requests.h"
#include "agent/shell/testing.h"
#include "sys/worker_testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
using testing::Test;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

// A manager that answers each command with the effects a test has put down for it.
class ShellTest : public Test {
 protected:
  ShellTest() {
    node_.running.pods["u1"].record.pod = {.name = "a", .namespace_name = "n", .uid = "u1"};
    node_.placing.pods["u1"].pod = node_.running.pods["u1"].record.pod;
  }

  Shell& shell() {
    if (!shell_) {
      const Brain brain{.step =
                            [this](NodeState node, std::span<const Command> commands, const Now&) {
                              std::string line = "step";
                              Outcome outcome{.node = std::move(node)};
                              for (const Command& command : commands) {
                                line += fmt::format(" {}", name_of(command));
                                commands_.push_back(command);
                                for (Effect& effect : script_[name_of(command)]) {
                                  outcome.effects.push_back(std::move(effect));
                                }
                                script_.erase(name_of(command));
                              }
                              diary_.push_back(line);
                              return outcome;
                            },
                        .violations = violations_};
      shell_.emplace(brain, node_,
                     ShellParts{.loop = loop_,
                                .runtime = runtime_,
                                .store = committer_,
                                .listener = listener_,
                                .log = log_,
                                .now = [] { return Now{}; },
                                .online = [this]() -> Result<CpuSet> {
                                  if (online_error_) return *online_error_;
                                  return cpus("0-3");
                                },
                                .on_violation = on_violation_,
                                .remove_again = std::chrono::milliseconds(1),
                                .are_delays_held = are_delays_held_});
    }
    return *shell_;
  }

  // Everything that is to last is written, and what comes of it.
  void store() {
    do {
      loop_.restart();
      loop_.poll();
    } while (worker_.step());
  }

  template <typename Kind>
  Kind last() const {
    return std::get<Kind>(commands_.back());
  }

  boost::asio::io_context loop_;
  std::vector<std::string> diary_;
  FakeRuntime runtime_{diary_};
  FakeStore store_{diary_};
  ManualWorker worker_;
  Committer committer_{{.loop = loop_, .worker = worker_, .store = store_}};
  FakeListener listener_{diary_};
  std::ostringstream lines_;
  Log log_ = Log::to_stream(lines_, LogLevel::kDebug);
  NodeState node_;
  std::map<std::string_view, std::vector<Effect>> script_;
  std::vector<Command> commands_;
  std::optional<Error> online_error_{};
  std::function<std::vector<std::string>(const NodeState&)> violations_;
  OnViolation on_violation_ = OnViolation::kLog;
  std::function<bool()> are_delays_held_;
  std::optional<Shell> shell_;
};

const ContainerRef kMain{.pod = "u1", .container = "main"};

TEST_F(ShellTest, RunsEffectsInOrderAndThenTakesWhatCameOfThemTogether) {
  script_["DeletePod"] = {
      WritePodInfo{.uid = "u1", .pod = std::make_shared<const Pod>(Pod{.uid = "u1"})},
      SetCpuset{.container = kMain}, EmitEvent{.reason = "Done"}};
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step DeletePod", "podinfo u1", "place main on ",
                                              "event Done", "changed",
                                              "step PodInfoWritten CpusetApplied", "changed"}));
}

TEST_F(ShellTest, GoesOnWhileTheStoreWritesAndTakesItsAnswersTogether) {
  const PodRecord record = node_.running.pods["u1"].record;
  script_["CreatePod"] = {SavePod{.record = record}, PersistCheckpoint{.revision = 7}};
  script_["DeletePod"] = {ForgetPod{.uid = "u2"}, EmitEvent{.reason = "Done"}};
  shell().submit(CreatePod{});
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step CreatePod", "changed", "step DeletePod",
                                              "event Done", "changed"}));
  diary_.clear();
  store();
  EXPECT_EQ(diary_,
            (std::vector<std::string>{"commit save u1 checkpoint 7 forget u2",
                                      "step PodSaved CheckpointSaved PodForgotten", "changed"}));
}

TEST_F(ShellTest, WritesWhatItHasAcceptedBeforeItEnds) {
  script_["CreatePod"] = {SavePod{.record = node_.running.pods["u1"].record}};
  script_["DeletePod"] = {ForgetPod{.uid = "u2"}};
  shell().submit(CreatePod{});
  loop_.poll();
  ASSERT_EQ(worker_.waiting(), 1U);
  shell().submit(DeletePod{.uid = "u2"});
  store_.failure = Error{Code::kIo, "write /x: ENOSPC"};
  diary_.clear();
  shell().close();
  EXPECT_EQ(diary_, (std::vector<std::string>{"commit save u1", "commit forget u2"}));
  EXPECT_NE(lines_.str().find("effect=ForgetPod pod=u2 error=\"write /x: ENOSPC\""),
            std::string::npos)
      << lines_.str();
  store();
  EXPECT_EQ(commands_.size(), 2U);
}

TEST_F(ShellTest, TakesTheAnswersOfASlowRuntimeWhenTheyCome) {
  runtime_.is_slow = true;
  script_["DeletePod"] = {
      StartContainer{.container = kMain, .attempt = 2, .placement = {.cpus = cpus("2-3")}}};
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(commands_.size(), 1U);
  runtime_.answer_all();
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(last<ContainerStarted>().attempt, 2);
  EXPECT_EQ(last<ContainerStarted>().container, kMain);
}

TEST_F(ShellTest, TakesACommandFromTheMiddleOfAnEffectAfterTheOthers) {
  listener_.on_reply = [this] { shell().submit(DeletePod{.uid = "again"}); };
  script_["CreatePod"] = {Reply{.request = 1}, EmitEvent{.reason = "After"}};
  shell().submit(CreatePod{});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step CreatePod", "reply 1", "event After", "changed",
                                              "step DeletePod", "changed"}));
}

TEST_F(ShellTest, AsksTheRuntimeOnceForAllContainersThatShare) {
  for (const char* name : {"a", "b", "c"}) node_.placing.pool.members.insert({"u1", name});
  script_["DeletePod"] = {SetSharedCpus{cpus("4-7")}};
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step DeletePod", "place 3 that share on 4-7",
                                              "changed", "step SharedCpusApplied", "changed"}));
  EXPECT_EQ(last<SharedCpusApplied>().cpus, cpus("4-7"));
  runtime_.failure = Error{Code::kIo, "write /x: EBUSY"};
  script_["CreatePod"] = {SetSharedCpus{cpus("4-5")}};
  shell().submit(CreatePod{});
  EXPECT_EQ(last<SharedCpusFailed>().error, *runtime_.failure);
}

TEST_F(ShellTest, ReportsEveryFailureAsTheCommandThatBelongsToIt) {
  const Error full{Code::kIo, "write /x: ENOSPC"};
  store_.failure = full;
  store_.checkpoint_failure = Error{Code::kIo, "fsync /x: EIO"};
  runtime_.failure = full;
  script_["CreatePod"] = {SavePod{.record = node_.running.pods["u1"].record},
                          ForgetPod{.uid = "u1"},
                          PersistCheckpoint{.revision = 3},
                          WritePodInfo{.uid = "u1", .pod = std::make_shared<const Pod>()},
                          SetCpuset{.container = kMain, .placement = {.cpus = cpus("1")}},
                          StartContainer{.container = kMain},
                          Observe{}};
  shell().submit(CreatePod{});
  store();
  ASSERT_EQ(commands_.size(), 8U);
  EXPECT_EQ(std::get<PodInfoWritten>(commands_[1]).error, full);
  EXPECT_EQ(std::get<CpusetFailed>(commands_[2]).error, full);
  EXPECT_EQ(std::get<CpusetFailed>(commands_[2]).cpus, cpus("1"));
  EXPECT_EQ(std::get<StartFailed>(commands_[3]).error, full);
  EXPECT_EQ(std::get<ObserveFailed>(commands_[4]).error, full);
  EXPECT_EQ(std::get<PodSaved>(commands_[5]).error, full);
  EXPECT_EQ(std::get<PodForgotten>(commands_[6]).error, full);
  EXPECT_EQ(std::get<CheckpointSaved>(commands_[7]).error, store_.checkpoint_failure);
  EXPECT_EQ(std::get<CheckpointSaved>(commands_[7]).revision, 3U);
  EXPECT_NE(lines_.str().find("level=warning msg=\"effect failed\" effect=PersistCheckpoint "
                              "revision=3 shared=\"\" error=\"fsync /x: EIO\""),
            std::string::npos)
      << lines_.str();
}

TEST_F(ShellTest, ObservesContainersAndCpus) {
  const ContainerExit ended{.code = 137, .signal = 9, .started_at = 5ms, .finished_at = 9ms};
  runtime_.containers = {{.container = kMain,
                          .attempt = 1,
                          .running = false,
                          .cpus = cpus("2"),
                          .started_at = 5ms,
                          .exit = ended,
                          .pod = std::make_shared<const Pod>(Pod{.name = "a"})},
                         {.container = {.pod = "u2", .container = "x"}, .pod_error = "broken"}};
  script_["CreatePod"] = {Observe{}};
  shell().submit(CreatePod{});
  const auto observed = last<Observed>();
  EXPECT_EQ(observed.online, cpus("0-3"));
  ASSERT_EQ(observed.seen.size(), 2U);
  EXPECT_EQ(observed.seen[0].exit, ended);
  ASSERT_TRUE(observed.seen[0].pod);
  EXPECT_EQ(observed.seen[0].pod->name, "a");
  EXPECT_FALSE(observed.seen[1].pod);
  EXPECT_NE(lines_.str().find("level=warning msg=\"the runtime's copy of a pod cannot be read\" "
                              "uid=u2 container=x error=broken"),
            std::string::npos)
      << lines_.str();
}

TEST_F(ShellTest, TellsWhenTheCpusOfTheMachineCannotBeKnown) {
  online_error_ = Error{Code::kIo, "no /sys"};
  script_["CreatePod"] = {Observe{}};
  shell().submit(CreatePod{});
  EXPECT_EQ(last<ObserveFailed>().error.message, "no /sys");
}

TEST_F(ShellTest, PassesOnHowAContainerEnded) {
  const ContainerExit exit{.code = 137,
                           .signal = 9,
                           .cause = ExitCause::kOutOfMemory,
                           .started_at = 5ms,
                           .finished_at = 9ms};
  shell().exited(kMain, 3, exit);
  EXPECT_EQ(last<ContainerExited>().container, kMain);
  EXPECT_EQ(last<ContainerExited>().attempt, 3);
  EXPECT_EQ(last<ContainerExited>().exit, exit);
}

TEST_F(ShellTest, RemovesTheFilesOfAPodUntilTheyAreGone) {
  runtime_.failure = Error{Code::kIo, "device busy"};
  script_["DeletePod"] = {RemovePodFiles{.uid = "u"}};
  shell().submit(DeletePod{.uid = "u"});
  const auto asked = [this] { return std::count(diary_.begin(), diary_.end(), "remove files u"); };
  while (asked() < 2) loop_.run_one();
  runtime_.failure.reset();
  loop_.restart();
  loop_.run();
  EXPECT_GE(asked(), 3);
  EXPECT_EQ(diary_.back(), "remove files u");
}

// The file of a static pod was put back, and the pod has its UID again.
TEST_F(ShellTest, LeavesFilesAloneThatAreAPodsAgain) {
  runtime_.failure = Error{Code::kIo, "device busy"};
  script_["DeletePod"] = {RemovePodFiles{.uid = "u"}};
  node_.running.pods["u"].record.pod.uid = "u";
  shell().submit(DeletePod{.uid = "u"});
  loop_.run();
  EXPECT_EQ(std::count(diary_.begin(), diary_.end(), "remove files u"), 1);
}

TEST_F(ShellTest, RemovesAContainerUntilItIsGone) {
  script_["DeletePod"] = {RemoveContainer{{"u1", "main"}}};
  runtime_.failure = Error{Code::kIo, "its cgroup is still in use"};
  shell().submit(DeletePod{.uid = "u1"});
  const auto asked = [this] { return std::count(diary_.begin(), diary_.end(), "remove main"); };
  while (asked() < 2) loop_.run_one();
  runtime_.failure.reset();
  loop_.restart();
  loop_.run();
  EXPECT_GE(asked(), 3);
  EXPECT_EQ(diary_.back(), "remove main");
}

TEST_F(ShellTest, LeavesAContainerThatWasStartedAnew) {
  script_["DeletePod"] = {RemoveContainer{{"u1", "main"}}};
  runtime_.failure = Error{Code::kConflict, "container main (pod u1) still runs"};
  shell().submit(DeletePod{.uid = "u1"});
  loop_.run();
  EXPECT_EQ(std::count(diary_.begin(), diary_.end(), "remove main"), 1);
}

TEST_F(ShellTest, StartsTheProcessOfThePodOrTheWaitingChildOfAClient) {
  const auto pod = std::make_shared<const Pod>(Pod{.name = "a", .uid = "u1"});
  script_["CreatePod"] = {
      StartContainer{.container = kMain, .attempt = 2, .pod = pod},
      StartContainer{.container = kMain, .pod = pod, .source = Source::kRunWaiting}};
  shell().submit(CreatePod{});
  ASSERT_EQ(runtime_.started.size(), 2U);
  EXPECT_EQ(runtime_.started[0].attempt, 2);
  EXPECT_EQ(runtime_.started[0].process, Start::Process::kOfThePod);
  EXPECT_EQ(runtime_.started[0].pod, pod);
  EXPECT_EQ(runtime_.started[1].process, Start::Process::kWaiting);
}

TEST_F(ShellTest, LeavesTheTimeOfAStopToTheRuntime) {
  script_["DeletePod"] = {StopContainer{.container = kMain, .grace = 30s}};
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step DeletePod", "stop main in 30 s", "changed"}));
}

TEST_F(ShellTest, FiresTimers) {
  const TimerKey key{.kind = TimerKey::Kind::kRetry, .about = kMain};
  script_["CreatePod"] = {StartTimer{.timer = key, .after = 1ms}};
  shell().submit(CreatePod{});
  EXPECT_EQ(commands_.size(), 1U);
  loop_.run();
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(last<TimerFired>().timer, key);
}

TEST_F(ShellTest, FiresATimerThatIsStartedAnewOnce) {
  const TimerKey key{.kind = TimerKey::Kind::kRestart, .about = kMain};
  script_["CreatePod"] = {StartTimer{.timer = key, .after = 0ms},
                          StartTimer{.timer = key, .after = 1ms}};
  shell().submit(CreatePod{});
  loop_.run();
  EXPECT_EQ(commands_.size(), 2U);
}

TEST_F(ShellTest, NeverFiresACancelledTimerEvenIfItHadExpired) {
  const TimerKey key{.kind = TimerKey::Kind::kRetry};
  const TimerKey other{.kind = TimerKey::Kind::kReconcile};
  script_["CreatePod"] = {StartTimer{.timer = other, .after = 0ms},
                          StartTimer{.timer = key, .after = 0ms}};
  script_["TimerFired"] = {CancelTimer{.timer = key}};
  shell().submit(CreatePod{});
  loop_.run();
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(last<TimerFired>().timer, other);
}

// Whether delays are held is asked when one has passed, and again as long as they are.
TEST_F(ShellTest, FiresTheTimerOfADelayWhenDelaysAreNoLongerHeld) {
  const TimerKey key{.kind = TimerKey::Kind::kDelay, .about = kMain};
  int asked = 0;
  are_delays_held_ = [&] {
    EXPECT_EQ(commands_.size(), 1U);
    return ++asked < 3;
  };
  script_["CreatePod"] = {StartTimer{.timer = key, .after = 0ms}};
  shell().submit(CreatePod{});
  loop_.run();
  EXPECT_EQ(asked, 3);
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(last<TimerFired>().timer, key);
}

TEST_F(ShellTest, HoldsNoTimersButThoseOfDelays) {
  const TimerKey key{.kind = TimerKey::Kind::kRetry, .about = kMain};
  are_delays_held_ = [] { return true; };
  script_["CreatePod"] = {StartTimer{.timer = key, .after = 0ms}};
  shell().submit(CreatePod{});
  loop_.run();
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(last<TimerFired>().timer, key);
}

TEST_F(ShellTest, NeverFiresADelayThatIsCancelledWhileItIsHeld) {
  const TimerKey key{.kind = TimerKey::Kind::kDelay, .about = kMain};
  bool was_asked = false;
  are_delays_held_ = [&] {
    was_asked = true;
    return true;
  };
  script_["CreatePod"] = {StartTimer{.timer = key, .after = 0ms}};
  script_["DeletePod"] = {CancelTimer{.timer = key}};
  shell().submit(CreatePod{});
  while (!was_asked) loop_.run_one();
  shell().submit(DeletePod{.uid = "u1"});
  loop_.run();
  EXPECT_EQ(commands_.size(), 2U);
}

TEST_F(ShellTest, LogsEachEffectBeforeItIsRun) {
  script_["CreatePod"] = {PersistCheckpoint{.revision = 7},
                          SetCpuset{.container = kMain, .placement = {.cpus = cpus("2-3")}}};
  shell().submit(CreatePod{.pod = {.name = "odd name\n"}});
  const std::string text = lines_.str();
  EXPECT_NE(text.find("level=debug msg=effect effect=PersistCheckpoint revision=7"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("msg=effect effect=SetCpuset pod=n/a container=main cpus=2-3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("msg=command command=CreatePod pod=\"default/odd name\\n\""),
            std::string::npos)
      << text;
}

TEST_F(ShellTest, LogsBrokenPromises) {
  violations_ = [](const NodeState&) { return std::vector<std::string>{"CPU 3 has two owners"}; };
  shell().submit(CreatePod{});
  EXPECT_NE(lines_.str().find(
                "level=error msg=\"a promise is broken\" violation=\"CPU 3 has two owners\""),
            std::string::npos)
      << lines_.str();
}

TEST_F(ShellTest, EndsWhereAPromiseIsBrokenIfItIsToldTo) {
  violations_ = [](const NodeState&) { return std::vector<std::string>{"CPU 3 has two owners"}; };
  on_violation_ = OnViolation::kAbort;
  EXPECT_DEATH(shell().submit(CreatePod{}), "broken.empty");
}

TEST(Requests, AQuestionIsAnsweredByAGrantOrAnError) {
  Requests requests;
  std::vector<std::string> answers;
  const auto hear = [&](const Result<Grant>& answer) {
    answers.push_back(answer ? answer->cpus.str() : answer.error().message);
  };
  const RequestId granted = requests.add_question(hear);
  const RequestId refused = requests.add_question(hear);
  requests.replied(Reply{.request = refused, .error = Error{Code::kExhausted, "no room"}});
  requests.replied(Reply{.request = granted, .grant = Grant{.cpus = cpus("2-3")}});
  requests.replied(Reply{.request = granted, .grant = Grant{.cpus = cpus("4")}});
  EXPECT_EQ(answers, (std::vector<std::string>{"no room", "2-3"}));
}

}  // namespace
}  // namespace corehold
