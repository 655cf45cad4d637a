// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated_runtime.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/directory.h"

namespace corehold {
namespace {

class Simulated : public testing::Test {
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
    runtime_ = std::make_unique<SimulatedRuntime>(
        loop_, directory_ + "/simulated.json",
        [this](const ContainerRef&, int attempt, const RuntimeExit& exit) {
          attempt_ = attempt;
          exit_ = exit;
        });
  }
  Launch launch(std::vector<std::string> command) const {
    return {.container = main_,
            .attempt = 2,
            .command = std::move(command),
            .manifest = "{}",
            .confines = {.cpus = *CpuSet::parse("2-3")}};
  }
  Result<void> start(const Launch& launch) {
    Result<void> result = Error{Code::kIo, "no answer"};
    runtime_->start(launch, [&](Result<void> done) { result = std::move(done); });
    return result;
  }
  std::vector<RuntimeContainer> list() {
    std::vector<RuntimeContainer> all;
    runtime_->list([&](Result<std::vector<RuntimeContainer>> done) {
      EXPECT_TRUE(done) << done.error().message;
      if (done) all = *std::move(done);
    });
    return all;
  }
  // Turns the loop until an end is reported.
  bool ends() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
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
  std::optional<RuntimeExit> exit_{};
};

TEST_F(Simulated, ContainersRunUntilTheyAreStopped) {
  ASSERT_TRUE(start(launch({"/bin/server"})));
  loop_.run_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(exit_);
  ASSERT_EQ(list().size(), 1U);
  EXPECT_TRUE(list()[0].running);
  EXPECT_EQ(list()[0].cpus.str(), "2-3");
  bool is_answered = false;
  runtime_->signal(main_, SIGTERM,
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
  runtime_->update(main_, {.cpus = *CpuSet::parse("4")},
                   [&](const Result<void>& done) { is_updated = done.has_value(); });
  EXPECT_TRUE(is_updated);
  restart();
  const auto all = list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].running);
  EXPECT_EQ(all[0].attempt, 2);
  EXPECT_EQ(all[0].cpus.str(), "4");
  EXPECT_EQ(all[0].manifest, "{}");
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
  runtime_->signal(main_, SIGKILL, [](const Result<void>&) {});
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
  EXPECT_FALSE(exit_->known);
}

TEST_F(Simulated, FileThatIsCorruptIsSaidToBe) {
  std::ofstream(directory_ + "/simulated.json") << "{";
  restart();
  runtime_->list([&](const Result<std::vector<RuntimeContainer>>& done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kCorrupt);
  });
}

}  // namespace
}  // namespace corehold
