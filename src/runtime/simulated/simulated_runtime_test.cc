// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/simulated_runtime.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "pod/pod_json.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

class Simulated : public testing::Test, public RuntimeEvents {
 protected:
  Simulated() {
    std::string pattern = testing::TempDir() + "simulated-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    restart();
  }
  ~Simulated() override {
    runtime_.reset();
    static_cast<void>(remove_tree(directory_));
  }

  void restart() {
    runtime_.reset();
    runtime_ = std::make_unique<SimulatedRuntime>(loop_, directory_ + "/simulated.json",
                                                  WorkspaceOptions{.context = {.root = directory_}},
                                                  *this);
  }
  void preparing(const ContainerRef&, int, const std::string&) override {}
  void exited(const ContainerRef&, int attempt, const ContainerExit& exit) override {
    attempt_ = attempt;
    exit_ = exit;
  }
  void started(const ContainerRef&, int) override {}
  void removed(const std::string&) override {}
  void synchronized(std::vector<SeenContainer>) override {}
  void asked(const Ask&, std::function<void(Result<Grant>)>) override {}
  Launch launch(std::vector<std::string> command) const {
    return {.container = main_,
            .attempt = 2,
            .command = std::move(command),
            .manifest = R"({"metadata":{"name":"kept"},"spec":{"containers":[{"name":"main"}]}})",
            .placement = {.cpus = *CpuSet::parse("2-3")}};
  }
  Result<void> start(const Launch& launch) {
    Result<void> result = Error{Code::kIo, "no answer"};
    runtime_->launch(launch, [&](const Result<Started>& done) {
      result = done ? Result<void>{} : Result<void>(done.error());
    });
    return result;
  }
  std::vector<SeenContainer> list() {
    std::vector<SeenContainer> all;
    runtime_->list([&](Result<std::vector<SeenContainer>> done) {
      EXPECT_TRUE(done) << done.error().message;
      if (done) all = *std::move(done);
    });
    return all;
  }
  // Turns the loop until an end is reported.
  bool ends() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!exit_ && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return exit_.has_value();
  }

  const ContainerRef main_{"u", "main"};
  boost::asio::io_context loop_{};
  std::string directory_{};
  std::unique_ptr<SimulatedRuntime> runtime_{};
  int attempt_ = -1;
  std::optional<ContainerExit> exit_{};
};

// What its containers have in memory is as little there as the containers.
TEST_F(Simulated, MountsNothing) {
  const auto pod = pod_from_json(parse_json(R"json({"metadata":{"name":"p","uid":"u"},"spec":{
      "containers":[{"name":"main","command":["serve"]}],
      "volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}})json")
                                     ->get_object());
  ASSERT_TRUE(pod);
  std::optional<Result<Started>> started;
  runtime_->start({.container = main_, .pod = std::make_shared<const Pod>(*pod)},
                  [&](const Result<Started>& done) { started = done; });
  ASSERT_TRUE(started);
  EXPECT_TRUE(*started) << started->error().message;
  struct stat volume {};
  struct stat around {};
  ASSERT_EQ(::stat((directory_ + "/volumes/u/v").c_str(), &volume), 0);
  ASSERT_EQ(::stat(directory_.c_str(), &around), 0);
  EXPECT_EQ(volume.st_dev, around.st_dev);
}

TEST_F(Simulated, ContainersRunUntilTheyAreStopped) {
  ASSERT_TRUE(start(launch({"/bin/server"})));
  loop_.run_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(exit_);
  ASSERT_EQ(list().size(), 1U);
  EXPECT_TRUE(list()[0].running);
  EXPECT_EQ(list()[0].cpus.str(), "2-3");
  bool is_answered = false;
  runtime_->stop(main_, std::chrono::seconds(30),
                 [&](const Result<void>& done) { is_answered = done.has_value(); });
  EXPECT_TRUE(is_answered);
  EXPECT_FALSE(exit_) << "not from inside the call";
  ASSERT_TRUE(ends());
  EXPECT_EQ(exit_->code, 143);
  EXPECT_EQ(exit_->signal, SIGTERM);
  EXPECT_EQ(attempt_, 2);
}

TEST_F(Simulated, ContainersEndByThemselvesWhereTheirCommandDoes) {
  ASSERT_TRUE(start(launch({"/bin/true"})));
  ASSERT_TRUE(ends());
  EXPECT_EQ(exit_->code, 0);
  exit_.reset();
  ASSERT_TRUE(start(launch({"false"})));
  ASSERT_TRUE(ends());
  EXPECT_EQ(exit_->code, 1);
  exit_.reset();
  ASSERT_TRUE(start(launch({"sleep", "0.01"})));
  ASSERT_TRUE(ends());
  EXPECT_EQ(exit_->code, 0);
}

TEST_F(Simulated, ContainersOutliveTheAgent) {
  ASSERT_TRUE(start(launch({"/bin/server"})));
  bool is_updated = false;
  runtime_->place(main_, {.cpus = *CpuSet::parse("4")},
                  [&](const Result<void>& done) { is_updated = done.has_value(); });
  EXPECT_TRUE(is_updated);
  restart();
  const auto all = list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].running);
  EXPECT_EQ(all[0].attempt, 2);
  EXPECT_EQ(all[0].cpus.str(), "4");
  ASSERT_TRUE(all[0].pod) << all[0].pod_error;
  EXPECT_EQ(all[0].pod->name, "kept");
}

TEST_F(Simulated, ContainersThatShareAreMovedTogether) {
  Launch other = launch({"/bin/server"});
  other.container.container = "other";
  Launch own = other;
  own.container.container = "own";
  for (const Launch& each : {launch({"/bin/server"}), other, own}) ASSERT_TRUE(start(each));
  bool is_moved = false;
  runtime_->place_shared(*CpuSet::parse("4-7"), {main_, other.container, {"u", "unknown"}},
                         [&](const Result<void>& done) { is_moved = done.has_value(); });
  EXPECT_TRUE(is_moved);
  for (int life = 0; life < 2; ++life) {
    std::vector<std::string> where;
    for (const SeenContainer& seen : list()) where.push_back(seen.cpus.str());
    EXPECT_EQ(where, (std::vector<std::string>{"4-7", "4-7", "2-3"}));
    restart();
  }
}

TEST_F(Simulated, ContainersEndWhileTheAgentIsAway) {
  ASSERT_TRUE(start(launch({"sleep", "0"})));
  restart();
  const auto all = list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].running);
  ASSERT_TRUE(all[0].exit);
  EXPECT_EQ(all[0].exit->code, 0);
}

TEST_F(Simulated, ContainersGoOnSleepingUnderTheNextAgent) {
  ASSERT_TRUE(start(launch({"sleep", "0.05"})));
  restart();
  list();
  ASSERT_TRUE(ends());
}

TEST_F(Simulated, ContainersAreRemovedOnceTheyHaveEnded) {
  ASSERT_TRUE(start(launch({"/bin/server"})));
  std::optional<Result<void>> removed;
  runtime_->remove(main_, [&](Result<void> done) { removed = std::move(done); });
  ASSERT_FALSE(*removed);
  EXPECT_EQ(removed->error().message, "container main (pod u) still runs");
  runtime_->stop(main_, {}, [](const Result<void>&) {});
  ASSERT_TRUE(ends());
  runtime_->remove(main_, [&](Result<void> done) { removed = std::move(done); });
  EXPECT_TRUE(*removed);
  EXPECT_TRUE(list().empty());
  runtime_->remove(main_, [&](Result<void> done) { removed = std::move(done); });
  EXPECT_TRUE(*removed);
}

TEST_F(Simulated, RunEndsWithItsClient) {
  const pid_t client = ::fork();
  if (client == 0) {
    ::pause();
    ::_exit(0);
  }
  Launch run = launch({"x"});
  run.attached = client;
  run.attached_to = client;
  ASSERT_TRUE(start(run));
  EXPECT_TRUE(list()[0].running);
  restart();
  EXPECT_TRUE(list()[0].running);
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  ASSERT_TRUE(ends());
  EXPECT_EQ(exit_->cause, ExitCause::kUnknown);
}

TEST_F(Simulated, AClientThatDoesNotEndIsKilledWhenTheGraceIsOver) {
  // A child is born with the signals ignored that its parent ignores.
  const auto before = std::signal(SIGTERM, SIG_IGN);
  const pid_t client = ::fork();
  if (client == 0) {
    for (;;) ::pause();
  }
  static_cast<void>(std::signal(SIGTERM, before));
  Launch run = launch({"x"});
  run.attached = client;
  run.attached_to = client;
  ASSERT_TRUE(start(run));
  runtime_->stop(main_, std::chrono::hours(1), [](const Result<void>& done) { EXPECT_TRUE(done); });
  loop_.run_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(exit_);
  runtime_->stop(main_, std::chrono::milliseconds(1),
                 [](const Result<void>& done) { EXPECT_TRUE(done); });
  EXPECT_TRUE(ends());
  int status = 0;
  const bool has_ended = ::waitpid(client, &status, WNOHANG) == client;
  if (!has_ended) {
    ::kill(client, SIGKILL);
    ::waitpid(client, nullptr, 0);
  }
  ASSERT_TRUE(has_ended);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST_F(Simulated, FileThatIsCorruptIsSaidToBe) {
  std::ofstream(directory_ + "/simulated.json") << "{";
  restart();
  runtime_->list([&](const Result<std::vector<SeenContainer>>& done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kCorrupt);
  });
}

}  // namespace
}  // namespace corehold
