// SPDX-License-Identifier: Apache-2.0
#include "agent/shell.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "agent/describe.h"
#include "agent/testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
using testing::Test;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

// A manager that answers each command with the effects a test has put down for it.
class ShellTest : public Test {
 protected:
  ShellTest() { node_.pods["u1"].record.pod = {.name = "a", .namespace_name = "n", .uid = "u1"}; }

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
                                .store = store_,
                                .workspace = workspace_,
                                .listener = listener_,
                                .log = log_,
                                .now = [] { return Now{}; },
                                .online = [this]() -> Result<CpuSet> {
                                  if (online_error_) return *online_error_;
                                  return cpus("0-3");
                                },
                                .on_violation = on_violation_,
                                .remove_again = std::chrono::milliseconds(1)});
    }
    return *shell_;
  }

  template <typename Kind>
  Kind last() const {
    return std::get<Kind>(commands_.back());
  }

  boost::asio::io_context loop_;
  std::vector<std::string> diary_;
  FakeRuntime runtime_{diary_};
  FakeStore store_{diary_};
  FakeWorkspace workspace_{diary_};
  FakeListener listener_{diary_};
  std::ostringstream lines_;
  Log log_ = Log::to_stream(lines_, LogLevel::kDebug);
  NodeState node_;
  std::map<std::string_view, std::vector<Effect>> script_;
  std::vector<Command> commands_;
  std::optional<Error> online_error_{};
  std::function<std::vector<std::string>(const NodeState&)> violations_;
  OnViolation on_violation_ = OnViolation::kLog;
  std::optional<Shell> shell_;
};

const ContainerRef kMain{.pod = "u1", .container = "main"};

TEST_F(ShellTest, RunsEffectsInOrderAndThenTakesWhatCameOfThemTogether) {
  script_["DeletePod"] = {PersistCheckpoint{.revision = 7}, SetCpuset{.container = kMain},
                          EmitEvent{.reason = "Done"}};
  shell().submit(DeletePod{.uid = "u1"});
  EXPECT_EQ(diary_, (std::vector<std::string>{"step DeletePod", "checkpoint", "update main to ",
                                              "event Done", "changed",
                                              "step CheckpointSaved CpusetApplied", "changed"}));
}

TEST_F(ShellTest, TakesTheAnswersOfASlowRuntimeWhenTheyCome) {
  runtime_.is_slow = true;
  script_["DeletePod"] = {StartContainer{.container = kMain, .attempt = 2, .cpus = cpus("2-3")}};
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

TEST_F(ShellTest, ReportsEveryFailureAsTheCommandThatBelongsToIt) {
  const Error full{Code::kIo, "write /x: ENOSPC"};
  store_.failure = full;
  workspace_.failure = full;
  runtime_.failure = full;
  script_["CreatePod"] = {SavePod{.record = node_.pods["u1"].record},
                          ForgetPod{.uid = "u1"},
                          PersistCheckpoint{.revision = 3},
                          WritePodInfo{.uid = "u1"},
                          SetCpuset{.container = kMain, .cpus = cpus("1")},
                          StartContainer{.container = kMain},
                          Observe{}};
  shell().submit(CreatePod{});
  ASSERT_EQ(commands_.size(), 8U);
  EXPECT_EQ(std::get<PodSaved>(commands_[1]).error, full);
  EXPECT_EQ(std::get<PodForgotten>(commands_[2]).error, full);
  EXPECT_EQ(std::get<CheckpointSaved>(commands_[3]).error, full);
  EXPECT_EQ(std::get<CheckpointSaved>(commands_[3]).revision, 3U);
  EXPECT_EQ(std::get<PodInfoWritten>(commands_[4]).error, full);
  EXPECT_EQ(std::get<CpusetFailed>(commands_[5]).error, full);
  EXPECT_EQ(std::get<CpusetFailed>(commands_[5]).cpus, cpus("1"));
  EXPECT_EQ(std::get<StartFailed>(commands_[6]).error, full);
  EXPECT_EQ(std::get<ObserveFailed>(commands_[7]).error, full);
  EXPECT_NE(lines_.str().find("level=warning msg=\"effect failed\" effect=PersistCheckpoint "
                              "revision=3 shared=\"\" error=\"write /x: ENOSPC\""),
            std::string::npos)
      << lines_.str();
}

TEST_F(ShellTest, ObservesContainersAndCpus) {
  runtime_.containers = {
      {.container = kMain,
       .attempt = 1,
       .running = false,
       .cpus = cpus("2"),
       .started_at = 5ms,
       .exit = RuntimeExit{.code = 137, .signal = 9, .finished_at = 9ms},
       .manifest = R"({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main"}]}})"},
      {.container = {.pod = "u2", .container = "x"}, .manifest = "broken"}};
  script_["CreatePod"] = {Observe{}};
  shell().submit(CreatePod{});
  const auto observed = last<Observed>();
  EXPECT_EQ(observed.online, cpus("0-3"));
  ASSERT_EQ(observed.seen.size(), 2U);
  EXPECT_EQ(
      observed.seen[0].exit,
      (Exit{.code = 137, .signal = 9, .reason = "Error", .started_at = 5ms, .finished_at = 9ms}));
  ASSERT_TRUE(observed.seen[0].pod);
  EXPECT_EQ(observed.seen[0].pod->name, "a");
  EXPECT_FALSE(observed.seen[1].pod);
}

TEST_F(ShellTest, TellsWhenTheCpusOfTheMachineCannotBeKnown) {
  online_error_ = Error{Code::kIo, "no /sys"};
  script_["CreatePod"] = {Observe{}};
  shell().submit(CreatePod{});
  EXPECT_EQ(last<ObserveFailed>().error.message, "no /sys");
}

TEST_F(ShellTest, KnowsWhenAnEndedContainerWasStarted) {
  node_.pods["u1"].record.containers["main"].started_at = 5ms;
  shell().exited(kMain, 0, {.code = 0, .known = false, .finished_at = 9ms});
  EXPECT_EQ(last<ContainerExited>().exit,
            (Exit{.reason = "ContainerStatusUnknown", .started_at = 5ms, .finished_at = 9ms}));
}

TEST_F(ShellTest, SaysWhenAContainerWasKilledForMemory) {
  shell().exited(kMain, 0, {.code = 137, .signal = 9, .out_of_memory = true, .finished_at = 9ms});
  EXPECT_EQ(last<ContainerExited>().exit.reason, "OOMKilled");
}

TEST_F(ShellTest, RemovesAContainerUntilItIsGone) {
  script_["DeletePod"] = {RemoveContainer{{"u1", "main"}}};
  runtime_.failure = Error{Code::kIo, "its cgroup is still in use"};
  shell().submit(DeletePod{.uid = "u1"});
  loop_.run_for(std::chrono::milliseconds(2));
  runtime_.failure.reset();
  loop_.restart();
  loop_.run();
  EXPECT_GE(std::count(diary_.begin(), diary_.end(), "remove main"), 2);
  EXPECT_EQ(diary_.back(), "remove main");
}

TEST_F(ShellTest, LeavesAContainerThatWasStartedAnew) {
  script_["DeletePod"] = {RemoveContainer{{"u1", "main"}}};
  node_.pods["u1"].containers["main"].stage = Stage::kStarting;
  runtime_.failure = Error{Code::kIo, "its cgroup is still in use"};
  shell().submit(DeletePod{.uid = "u1"});
  loop_.run();
  EXPECT_EQ(std::count(diary_.begin(), diary_.end(), "remove main"), 1);
}

TEST_F(ShellTest, FiresTimers) {
  const TimerKey key{.kind = TimerKey::Kind::kKill, .about = kMain};
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

TEST_F(ShellTest, LogsEachEffectBeforeItIsRun) {
  script_["CreatePod"] = {PersistCheckpoint{.revision = 7},
                          SetCpuset{.container = kMain, .cpus = cpus("2-3")}};
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

}  // namespace
}  // namespace corehold
