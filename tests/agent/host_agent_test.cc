// SPDX-License-Identifier: Apache-2.0
//
// The whole agent on this machine's kernel. Needs root and two CPUs.
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_process.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kCpus = "/apis/corehold.dev/v1alpha1/cpus";

// After `Key:` in /proc/PID/status.
std::string status_field(const std::string& pid, const std::string& key) {
  std::ifstream file("/proc/" + pid + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":"))
      return line.substr(line.find_first_not_of(" \t", key.size() + 1));
  }
  return "";
}

class HostAgent : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two CPUs";
  }
  void TearDown() override {
    if (!has_pods_) return;
    if (agent_.pid() == 0) {
      ASSERT_TRUE(agent_.start({"--recover"})) << agent_.log();
    }
    const auto pods = agent_.get("/api/v1/pods");
    for (const auto& pod : pods.at("items").get_array()) {
      const std::string name(pod.at("metadata").at("name").get_string());
      agent_.ask(
          {.method = "DELETE", .target = fmt::format("{}/{}?gracePeriodSeconds=0", kPods, name)});
    }
    EXPECT_TRUE(comes_true([&] { return agent_.field("/api/v1/pods", "/items") == "[]"; }));
    EXPECT_EQ(agent_.end(SIGTERM), 0);
  }

  // A pod whose container writes its own pid into a file and stays.
  std::string create(const std::string& name, int cpus) {
    const std::string file = fmt::format("{}/{}.pid", agent_.root(), name);
    has_pods_ = true;
    const HttpAnswer made = agent_.ask(
        {.method = "POST",
         .target = kPods,
         .body = pod_text(name, cpus, fmt::format("echo -n $$$$ > {}; exec sleep 1000", file))});
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_TRUE(is_phase(name, "Running")) << agent_.log();
    std::string pid;
    EXPECT_TRUE(comes_true([&] {
      const auto text = read_file(file, 100);
      if (text) pid = *text;
      return !pid.empty();
    }));
    return pid;
  }
  bool is_phase(const std::string& name, const std::string& phase) {
    return comes_true(
        [&] { return agent_.field(fmt::format("{}/{}", kPods, name), "/status/phase") == phase; });
  }

  AgentProcess agent_;
  bool has_pods_ = false;
};

TEST_F(HostAgent, KeepsToTheReservedCpuAndItsContainersToTheirs) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  EXPECT_EQ(status_field(fmt::to_string(agent_.pid()), "Cpus_allowed_list"), "0");
  const std::string shared = create("shared", 0);
  EXPECT_EQ(status_field(shared, "Cpus_allowed_list"), "0-1");
  const std::string alone = create("alone", 1);
  EXPECT_EQ(status_field(alone, "Cpus_allowed_list"), "1");
  EXPECT_EQ(status_field(shared, "Cpus_allowed_list"), "0");
  agent_.ask({.method = "DELETE", .target = fmt::format("{}/alone", kPods)});
  EXPECT_TRUE(comes_true([&] { return status_field(shared, "Cpus_allowed_list") == "0-1"; }));
}

TEST_F(HostAgent, GivesContainersNoneOfItsDescriptorsAndSignals) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  const std::string pid = create("a", 0);
  // Signals 32 and 33 are the C library's own, and out of reach.
  EXPECT_EQ(std::stoull(status_field(pid, "SigIgn"), nullptr, 16) & ~0x180000000ULL, 0U);
  EXPECT_EQ(status_field(pid, "SigBlk"), "0000000000000000");
  for (const std::string& process : {pid, status_field(pid, "PPid")}) {
    for (const auto& entry : fs::directory_iterator("/proc/" + process + "/fd")) {
      const std::string target = fs::read_symlink(entry.path()).string();
      EXPECT_EQ(target.find(agent_.root() + "/store.db"), std::string::npos) << target;
      EXPECT_EQ(target.find(".lock"), std::string::npos) << target;
    }
  }
}

TEST_F(HostAgent, TakesOverWhatRunsAfterBeingKilled) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  const std::string pid = create("alone", 1);
  agent_.end(SIGKILL);
  EXPECT_EQ(status_field(pid, "Cpus_allowed_list"), "1");
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  EXPECT_EQ(agent_.field(fmt::format("{}/alone", kPods), "/status/phase"), "Running");
  EXPECT_EQ(
      agent_.field(fmt::format("{}/alone", kPods), "/status/containerStatuses/0/restartCount"),
      "0");
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "1");
  EXPECT_EQ(status_field(pid, "Cpus_allowed_list"), "1");
}

TEST_F(HostAgent, KnowsHowAContainerEndedWhileThereWasNoAgent) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  const std::string pid = create("alone", 1);
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  ::kill(std::stoi(pid), SIGTERM);
  ASSERT_TRUE(comes_true([&] { return !fs::exists("/proc/" + pid); }));
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  ASSERT_TRUE(is_phase("alone", "Failed")) << agent_.log();
  EXPECT_EQ(agent_.field(fmt::format("{}/alone", kPods),
                         "/status/containerStatuses/0/state/terminated/exitCode"),
            "143");
  EXPECT_TRUE(comes_true([&] { return agent_.field(kCpus, "/shared") == "0-1"; }));
}

TEST_F(HostAgent, RefusesASecondAgentOfTheMachine) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  AgentProcess other;
  const Ended ended = run_corehold({"agent", "--root", other.root()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr(fmt::format("/run/corehold/agent.lock is held by process {}",
                                                  agent_.pid())));
  ASSERT_TRUE(other.start({"--simulate", "core:4 pu:1"})) << other.log();
}

TEST_F(HostAgent, RunsCommandsOneAfterTheOtherOnTheSameCpu) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  for (int i = 0; i < 10; ++i) {
    const Ended ended =
        run_corehold({"run", "--root", agent_.root(), "--cpus", "1", "--", "sh", "-c",
                      "grep -q 'Cpus_allowed_list:.1$' /proc/self/status && exit 9"});
    ASSERT_EQ(ended.code, 9) << ended.errors << agent_.log();
  }
}

TEST_F(HostAgent, FreesTheCpusOfACommandWhoseClientIsKilled) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  const pid_t client = ::fork();
  ASSERT_GE(client, 0);
  if (client == 0) {
    ::execl(COREHOLD_BINARY, "corehold", "run", "--root", agent_.root().c_str(), "--cpus", "1",
            "--name", "busy", "--", "sh", "-c", "sleep 1000 & sleep 1000", nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(is_phase("busy", "Running")) << agent_.log();
  ::kill(client, SIGKILL);
  EXPECT_TRUE(comes_true([&] { return agent_.field(kCpus, "/shared") == "0-1"; }));
  EXPECT_TRUE(comes_true(
      [&] { return agent_.ask({.target = fmt::format("{}/busy", kPods)}).status == 404; }));
}

TEST_F(HostAgent, FollowsALogToItsEnd) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  has_pods_ = true;
  agent_.ask({.method = "POST",
              .target = kPods,
              .body = pod_text("talker", 0, "echo one; sleep 0.3; echo two; exit 4")});
  ASSERT_TRUE(comes_true([&] {
    return agent_.field(fmt::format("{}/talker", kPods), "/status/phase") != "Pending";
  })) << agent_.log();
  const HttpAnswer answer = agent_.ask({.target = fmt::format("{}/talker/log?follow=true", kPods)});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "one\ntwo\n");
  EXPECT_EQ(agent_.ask({.target = fmt::format("{}/talker/log?tailLines=1", kPods)}).body, "two\n");
  EXPECT_EQ(agent_.ask({.target = fmt::format("{}/talker/log?limitBytes=5", kPods)}).body,
            "one\nt");
  EXPECT_EQ(agent_.ask({.target = fmt::format("{}/talker/log?stream=Stderr", kPods)}).body, "");
}

TEST_F(HostAgent, RefusesFieldsThatWouldHaveNoEffect) {
  ASSERT_TRUE(agent_.start({})) << agent_.log();
  const std::string pod = pod_text("a", 0, "exec sleep 1000");
  const auto refusal = [&](const std::string& field) {
    boost::json::object body = boost::json::parse(pod).as_object();
    const boost::json::object more = boost::json::parse("{" + field + "}").as_object();
    for (const auto& [key, value] : more) body["spec"].as_object()[key] = value;
    const HttpAnswer answer =
        agent_.ask({.method = "POST", .target = kPods, .body = boost::json::serialize(body)});
    EXPECT_EQ(answer.status, 422) << answer.body;
    return answer.body;
  };
  EXPECT_THAT(refusal(R"("hostUsers":false)"), HasSubstr("spec.hostUsers: not supported: "));
  EXPECT_THAT(refusal(R"("activeDeadlineSeconds":5)"),
              HasSubstr("spec.activeDeadlineSeconds: not supported: "));
  EXPECT_THAT(refusal(R"("volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}])"),
              HasSubstr("spec.volumes[0].emptyDir.sizeLimit: not supported: "));
  EXPECT_THAT(refusal(R"("securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced",
                         "value":"1"}]})"),
              HasSubstr("spec.securityContext.sysctls: not supported: "));
  create("a", 0);
  const HttpAnswer patched = agent_.ask({.method = "PATCH",
                                         .target = fmt::format("{}/a", kPods),
                                         .body = R"({"spec":{"activeDeadlineSeconds":5}})",
                                         .content_type = "application/merge-patch+json"});
  EXPECT_EQ(patched.status, 422) << patched.body;
}

TEST_F(HostAgent, LeavesContainersTheLimitOfOpenFilesItWasStartedWith) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const bool is_started = agent_.start({});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(is_started) << agent_.log();
  has_pods_ = true;
  agent_.ask({.method = "POST", .target = kPods, .body = pod_text("limited", 0, "ulimit -n")});
  const std::string log = fmt::format("{}/limited/log?follow=true", kPods);
  EXPECT_TRUE(comes_true([&] { return agent_.ask({.target = log}).body == "200\n"; }))
      << agent_.ask({.target = log}).body;
}

// A small file system of its own as the root of an agent.
class SmallRoot : public HostAgent {
 protected:
  void SetUp() override {
    HostAgent::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(::mount("corehold", agent_.root().c_str(), "tmpfs", 0, "size=2m"), 0);
  }
  void TearDown() override {
    HostAgent::TearDown();
    if (agent_.pid() != 0) agent_.end(SIGKILL);
    ::umount2(agent_.root().c_str(), MNT_DETACH);
  }
};

TEST_F(SmallRoot, RefusesPodsWhileItIsFullAndGoesOnAfterwards) {
  ASSERT_TRUE(agent_.start({"--simulate", "core:4 pu:1"})) << agent_.log();
  const std::string filler = agent_.root() + "/filler";
  {
    std::ofstream file(filler);
    const std::string block(65536, 'x');
    while (file << block && file.flush()) {
    }
  }
  // Some may still fit in the part of the store's log that is there already.
  constexpr int kMore = 1000;
  HttpAnswer refused{.status = 201};
  std::string name;
  for (int number = 0; number < kMore && refused.status == 201; ++number) {
    name = fmt::format("a{}", number);
    refused =
        agent_.ask({.method = "POST", .target = kPods, .body = pod_text(name, 0, "sleep 1000")});
  }
  EXPECT_EQ(refused.status, 500) << refused.body;
  EXPECT_THAT(refused.body, AnyOf(HasSubstr("full"), HasSubstr("ENOSPC")));
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-3");
  fs::remove(filler);
  const HttpAnswer made =
      agent_.ask({.method = "POST", .target = kPods, .body = pod_text(name, 1, "sleep 1000")});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(is_phase(name, "Running")) << agent_.log();
}

TEST_F(SmallRoot, SaysThatItIsReadOnly) {
  ASSERT_EQ(::mount("corehold", agent_.root().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr),
            0);
  const Ended ended = run_corehold({"agent", "--root", agent_.root(), "--simulate", "core:4 pu:1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("EROFS"));
}

}  // namespace
}  // namespace corehold
