// SPDX-License-Identifier: Apache-2.0
//
// The whole agent over its socket, on machines that are not there. Needs no root.
#include <sys/resource.h>
#include <sys/stat.h>
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
#include "store/checkpoint_file.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kCpus = "/apis/corehold.dev/v1alpha1/cpus";

class SimulatedAgent : public testing::Test {
 protected:
  bool start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--simulate", "package:1 core:4 pu:2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return agent_.start(arguments);
  }
  // Why the agent does not start.
  std::string refusal(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"agent", "--root", agent_.root(), "--simulate",
                               "package:1 core:4 pu:2", "--log-level", "error"});
    const Ended ended = run_corehold(more);
    EXPECT_EQ(ended.code, 1);
    return ended.errors;
  }
  HttpAnswer create(const std::string& name, int cpus) {
    return agent_.ask(
        {.method = "POST", .target = kPods, .body = pod_text(name, cpus, "sleep 1000")});
  }
  bool is_phase(const std::string& name, const std::string& phase) {
    return comes_true(
        [&] { return agent_.field(fmt::format("{}/{}", kPods, name), "/status/phase") == phase; });
  }
  std::string checkpoint() const { return agent_.root() + "/cpu_manager_state"; }

  AgentProcess agent_;
};

TEST_F(SimulatedAgent, GivesCpusToAPodAndTakesThemBack) {
  ASSERT_TRUE(start()) << agent_.log();
  const HttpAnswer made = create("a", 2);
  EXPECT_EQ(made.status, 201) << made.body;
  ASSERT_TRUE(is_phase("a", "Running")) << agent_.log();
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "2-3");
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-1,4-7");
  EXPECT_EQ(agent_.field(kCpus, "/free"), "4-7");
  const HttpAnswer deleted = agent_.ask({.method = "DELETE", .target = fmt::format("{}/a", kPods)});
  EXPECT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_TRUE(
      comes_true([&] { return agent_.ask({.target = fmt::format("{}/a", kPods)}).status == 404; }));
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-7");
}

TEST_F(SimulatedAgent, LetsAPodWaitUntilThereIsRoom) {
  ASSERT_TRUE(start()) << agent_.log();
  create("first", 6);
  ASSERT_TRUE(is_phase("first", "Running"));
  create("second", 2);
  ASSERT_TRUE(is_phase("second", "Pending"));
  EXPECT_TRUE(comes_true([&] {
    return agent_.field(fmt::format("{}/second", kPods), "/status/conditions/0/reason") ==
           "Unschedulable";
  }));
  agent_.ask({.method = "DELETE", .target = fmt::format("{}/first", kPods)});
  EXPECT_TRUE(is_phase("second", "Running")) << agent_.log();
}

TEST_F(SimulatedAgent, SaysWhatIsWrongWithARequest) {
  ASSERT_TRUE(start()) << agent_.log();
  const auto status_of = [&](const HttpQuestion& question) {
    const HttpAnswer answer = agent_.ask(question);
    const auto body = boost::json::parse(answer.body);
    EXPECT_EQ(body.at("kind").get_string(), "Status") << answer.body;
    EXPECT_EQ(body.at("code").get_int64(), answer.status);
    return fmt::format("{} {}", answer.status, std::string_view(body.at("reason").get_string()));
  };
  EXPECT_EQ(status_of({.target = "/nothing"}), "404 NotFound");
  EXPECT_EQ(status_of({.target = fmt::format("{}/none", kPods)}), "404 NotFound");
  EXPECT_EQ(status_of({.method = "PUT", .target = kPods}), "405 MethodNotAllowed");
  EXPECT_EQ(status_of({.method = "POST", .target = kPods, .body = "{"}), "400 BadRequest");
  EXPECT_EQ(status_of({.method = "POST", .target = kPods, .body = "{}"}), "422 Invalid");
  EXPECT_EQ(
      status_of({.method = "POST", .target = kPods, .body = pod_text("../../etc", 1, "true")}),
      "422 Invalid");
  EXPECT_EQ(status_of({.method = "POST",
                       .target = "/api/v1/namespaces/other/pods",
                       .body = R"({"metadata": {"name": "a", "namespace": "default"}})"}),
            "400 BadRequest");
  EXPECT_EQ(create("a", 1).status, 201);
  EXPECT_EQ(status_of({.method = "POST", .target = kPods, .body = pod_text("a", 1, "true")}),
            "409 AlreadyExists");
  EXPECT_EQ(
      status_of({.method = "DELETE", .target = fmt::format("{}/a?gracePeriodSeconds=-1", kPods)}),
      "400 BadRequest");
  EXPECT_EQ(status_of({.method = "DELETE",
                       .target = fmt::format("{}/a", kPods),
                       .body = R"({"preconditions": {"uid": "another"}})"}),
            "409 Conflict");
  EXPECT_EQ(
      status_of({.method = "POST", .target = "/apis/corehold.dev/v1alpha1/run", .body = "{}"}),
      "422 Invalid");
}

TEST_F(SimulatedAgent, TakesNoProcessThatIsNotAChildOfTheCaller) {
  ASSERT_TRUE(start()) << agent_.log();
  const HttpAnswer answer = agent_.ask({.method = "POST",
                                        .target = "/apis/corehold.dev/v1alpha1/run",
                                        .body = R"({"cpus": 1, "pid": 1, "command": ["true"]})"});
  EXPECT_EQ(answer.status, 403) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("it is no child of the caller"));
}

TEST_F(SimulatedAgent, ShowsNodeEventsVersionAndCounters) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  ASSERT_TRUE(is_phase("a", "Running"));
  EXPECT_EQ(agent_.field("/api/v1/nodes", "/items/0/status/capacity/cpu"), "8");
  EXPECT_EQ(agent_.field("/api/v1/nodes", "/items/0/status/allocatable/cpu"), "6");
  // Of the machine that is simulated, not of this one.
  EXPECT_EQ(agent_.field("/api/v1/nodes", "/items/0/status/capacity/memory"), "1048576Ki");
  const std::string name = agent_.field("/api/v1/nodes", "/items/0/metadata/name");
  EXPECT_EQ(agent_.field("/api/v1/nodes/" + name, "/kind"), "Node");
  EXPECT_THAT(agent_.ask({.target = "/api/v1/events"}).body, HasSubstr("\"Started\""));
  EXPECT_THAT(agent_.field("/version", "/gitVersion"), HasSubstr("+corehold."));
  EXPECT_THAT(agent_.ask({.target = "/metrics"}).body,
              HasSubstr("kubelet_cpu_manager_pinning_requests_total 1\n"));
}

TEST_F(SimulatedAgent, LeavesContainersRunningAndTakesThemOver) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  create("b", 0);
  ASSERT_TRUE(is_phase("a", "Running"));
  ASSERT_TRUE(is_phase("b", "Running"));
  const std::string uid = agent_.field(fmt::format("{}/a", kPods), "/metadata/uid");
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  EXPECT_FALSE(fs::exists(agent_.socket()));
  ASSERT_TRUE(start()) << agent_.log();
  EXPECT_EQ(agent_.field(fmt::format("{}/a", kPods), "/metadata/uid"), uid);
  EXPECT_EQ(agent_.field(fmt::format("{}/a", kPods), "/status/phase"), "Running");
  EXPECT_EQ(agent_.field(fmt::format("{}/a", kPods), "/status/containerStatuses/0/restartCount"),
            "0");
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "2-3");
}

TEST_F(SimulatedAgent, SurvivesBeingKilledAtAnyTime) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(start()) << agent_.log();
    create(fmt::format("p{}", i), 1);
    EXPECT_EQ(agent_.end(SIGKILL), -1);
    ASSERT_TRUE(load_checkpoint(checkpoint()));
  }
  ASSERT_TRUE(start()) << agent_.log();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_phase(fmt::format("p{}", i), "Running")) << i;
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-1,7");
}

TEST_F(SimulatedAgent, RefusesASecondAgentOfTheSameRoot) {
  ASSERT_TRUE(start()) << agent_.log();
  EXPECT_THAT(refusal(), HasSubstr(fmt::format("another agent uses {}", agent_.root())));
  EXPECT_THAT(refusal(), HasSubstr(fmt::format("is held by process {}", agent_.pid())));
  EXPECT_EQ(agent_.ask({.target = "/healthz"}).status, 200);
}

TEST_F(SimulatedAgent, RefusesADamagedCheckpointAndRebuildsItWhenTold) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  ASSERT_TRUE(is_phase("a", "Running"));
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  std::string text = *read_file(checkpoint(), 100'000);
  text.replace(text.find("2-3"), 3, "4-5");
  ASSERT_TRUE(write_file_atomically(checkpoint(), text));
  const std::string why = refusal();
  EXPECT_THAT(why, HasSubstr("checksum is"));
  EXPECT_THAT(why, HasSubstr("--recover moves it aside and rebuilds it from what runs"));
  EXPECT_EQ(*read_file(checkpoint(), 100'000), text);
  ASSERT_TRUE(start({"--recover"})) << agent_.log();
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "2-3");
  EXPECT_EQ(agent_.field(fmt::format("{}/a", kPods), "/status/containerStatuses/0/restartCount"),
            "0");
  EXPECT_THAT(agent_.ask({.target = "/api/v1/events"}).body,
              HasSubstr("the checkpoint was damaged and is moved aside"));
  bool is_kept = false;
  for (const auto& entry : fs::directory_iterator(agent_.root())) {
    if (!entry.path().filename().string().starts_with("cpu_manager_state.corrupt-")) continue;
    is_kept = *read_file(entry.path().string(), 100'000) == text;
  }
  EXPECT_TRUE(is_kept);
}

TEST_F(SimulatedAgent, RefusesALostCheckpointWhileContainersRun) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  ASSERT_TRUE(is_phase("a", "Running"));
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  fs::remove(checkpoint());
  EXPECT_THAT(refusal(), HasSubstr("is missing, but 1 containers of this node run"));
  ASSERT_TRUE(start({"--recover"})) << agent_.log();
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "2-3");
}

TEST_F(SimulatedAgent, RebuildsADamagedStoreFromWhatRunsWhenTold) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  ASSERT_TRUE(is_phase("a", "Running"));
  const std::string uid = agent_.field(fmt::format("{}/a", kPods), "/metadata/uid");
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  const std::string store = agent_.root() + "/store.db";
  ASSERT_TRUE(write_file_atomically(store, std::string(4096, 'x')));
  EXPECT_THAT(refusal(), HasSubstr("file is not a database"));
  ASSERT_TRUE(start({"--recover"})) << agent_.log();
  EXPECT_EQ(agent_.field(fmt::format("{}/a", kPods), "/metadata/uid"), uid);
  EXPECT_EQ(agent_.field(kCpus, "/containers/0/assigned"), "2-3");
  EXPECT_THAT(agent_.log(), HasSubstr("restart counts and exits are lost"));
  EXPECT_THAT(agent_.ask({.target = "/api/v1/events"}).body,
              HasSubstr("pods that wait or have ended, restart counts and exits are lost"));
}

TEST_F(SimulatedAgent, SaysWhatDiffersWhenTheConfigurationHasChanged) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 2);
  ASSERT_TRUE(is_phase("a", "Running"));
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  const std::string config = agent_.root() + "/node.yaml";
  const std::string head =
      "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";
  ASSERT_TRUE(write_file_atomically(config, head + "cpuManagerPolicy: none\n"));
  std::string why = refusal({"--config", config});
  EXPECT_THAT(why, HasSubstr("it was written under policy static, configured is none"));
  EXPECT_THAT(why, HasSubstr("corehold checkpoint convert"));
  ASSERT_TRUE(write_file_atomically(
      config, head + "cpuManagerPolicy: static\nreservedSystemCPUs: \"2-3\"\n"));
  why = refusal({"--config", config});
  EXPECT_THAT(why, HasSubstr("not all reserved cpus"));
  EXPECT_THAT(why, HasSubstr("configured: reserved 2-3"));
  EXPECT_THAT(why, HasSubstr("--to v3 --reserved 2-3 --no-strict --source "
                             "\"synthetic:package:1 core:4 pu:2\" --to-file NEW"));
}

TEST_F(SimulatedAgent, SaysWhatToDoWhenTheMachineHasLostCpus) {
  ASSERT_TRUE(start()) << agent_.log();
  EXPECT_EQ(agent_.end(SIGTERM), 0);
  const Ended ended = run_corehold({"agent", "--root", agent_.root(), "--simulate",
                                    "package:1 core:3 pu:2", "--log-level", "error"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("it names CPUs 6-7, which the machine lacks (it has 0-5)"));
  EXPECT_THAT(ended.errors, HasSubstr("move the file away and start with --recover"));
  // And that works.
  fs::rename(checkpoint(), agent_.root() + "/old");
  ASSERT_TRUE(agent_.start({"--simulate", "package:1 core:3 pu:2", "--recover"})) << agent_.log();
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-5");
}

TEST_F(SimulatedAgent, MayOpenAsManyFilesAsTheKernelLets) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const bool is_started = start();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(is_started) << agent_.log();
  rlimit found{};
  ASSERT_EQ(::prlimit(agent_.pid(), RLIMIT_NOFILE, nullptr, &found), 0);
  EXPECT_EQ(found.rlim_cur, before.rlim_max);
}

TEST_F(SimulatedAgent, DoesNotLetARunWaitForWhatCanNeverBe) {
  ASSERT_TRUE(start()) << agent_.log();
  for (const char* option : {"--verbose", "--wait"}) {
    const Ended ended =
        run_corehold({"run", "--root", agent_.root(), "--cpus", "7", option, "--", "true"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.errors, HasSubstr("requested=7, available=6; free CPUs: 2-7; more than this "
                                        "node can ever give\n"));
    EXPECT_THAT(ended.errors, testing::Not(HasSubstr("--wait")));
  }
}

TEST_F(SimulatedAgent, ReportsEveryMistakeOfItsConfiguration) {
  const std::string config = agent_.root() + "/node.yaml";
  ASSERT_TRUE(write_file_atomically(config,
                                    "kind: KubeletConfiguration\n"
                                    "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                    "cpuManagerPolicy: sometimes\n"
                                    "topologyManagerPolicy: never\n"));
  const std::string why = refusal({"--config", config});
  EXPECT_THAT(why, HasSubstr("node.yaml:3: "));
  EXPECT_THAT(why, HasSubstr("node.yaml:4: "));
}

TEST_F(SimulatedAgent, WarnsOfAConfigurationThatGivesNobodyCpus) {
  const std::string config = agent_.root() + "/node.yaml";
  const std::string head =
      "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";
  ASSERT_TRUE(write_file_atomically(config, head + "syncFrequency: 1m\n"));
  ASSERT_TRUE(start({"--config", config})) << agent_.log();
  EXPECT_THAT(agent_.log(), HasSubstr("level=warning msg=\"not given, and so none, as for a "
                                      "kubelet: no exclusive CPUs will be given; set "
                                      "cpuManagerPolicy: static\""));
  EXPECT_THAT(agent_.log(), HasSubstr("field=syncFrequency note=\"without effect yet\""));
}

TEST_F(SimulatedAgent, WarnsWhenEveryCpuIsReserved) {
  const std::string config = agent_.root() + "/node.yaml";
  ASSERT_TRUE(write_file_atomically(config,
                                    "kind: KubeletConfiguration\n"
                                    "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                    "cpuManagerPolicy: static\nreservedSystemCPUs: \"0-7\"\n"));
  ASSERT_TRUE(start({"--config", config})) << agent_.log();
  EXPECT_THAT(agent_.log(), HasSubstr("level=warning msg=\"no exclusive CPUs can be given: all "
                                      "are reserved or kept to be shared; reserve fewer\""));
}

TEST_F(SimulatedAgent, SendsALongLogToASlowReader) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 1);
  ASSERT_TRUE(is_phase("a", "Running"));
  // More than may wait for a reader, and more than sockets hold.
  constexpr std::size_t kLines = 120'000;
  const std::string uid = agent_.field(fmt::format("{}/a", kPods), "/metadata/uid");
  const std::string directory = fmt::format("{}/logs/{}/main", agent_.root(), uid);
  fs::create_directories(directory);
  std::string log;
  for (std::size_t i = 0; i < kLines; ++i) {
    log += fmt::format("2026-11-16T00:00:00.000000000Z stdout F {:060}\n", i);
  }
  ASSERT_TRUE(write_file_atomically(directory + "/0.log", log));
  EXPECT_EQ(agent_.ask({.target = fmt::format("{}/a/log", kPods)}).body.size(), kLines * 61);
  auto stream =
      open_stream(agent_.socket(), {.target = fmt::format("{}/a/log?follow=true", kPods)});
  ASSERT_TRUE(stream) << stream.error().message;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (std::size_t i = 0; i < kLines; ++i) {
    const auto line = stream->next_line();
    ASSERT_TRUE(line && *line) << i;
    ASSERT_EQ(**line, fmt::format("{:060}", i));
  }
  const HttpAnswer last = agent_.ask({.target = fmt::format("{}/a/log?tailLines=2", kPods)});
  EXPECT_EQ(last.body, fmt::format("{:060}\n{:060}\n", kLines - 2, kLines - 1));
}

TEST_F(SimulatedAgent, KeepsItsSocketToItself) {
  ASSERT_TRUE(start()) << agent_.log();
  struct stat status {};
  ASSERT_EQ(::stat(agent_.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SimulatedAgent, RunsACommandAndFreesItsCpusBeforeTheCommandReturns) {
  ASSERT_TRUE(start()) << agent_.log();
  for (int i = 0; i < 5; ++i) {
    const Ended ended =
        run_corehold({"run", "--root", agent_.root(), "--cpus", "6", "--", "sh", "-c", "exit 7"});
    EXPECT_EQ(ended.code, 7) << ended.errors << agent_.log();
  }
  EXPECT_EQ(agent_.field(kCpus, "/shared"), "0-7");
}

TEST_F(SimulatedAgent, RefusesACommandThatDoesNotFit) {
  ASSERT_TRUE(start()) << agent_.log();
  const Ended ended = run_corehold({"run", "--root", agent_.root(), "--cpus", "7", "--", "true"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("not enough cpus available"));
  EXPECT_EQ(agent_.field("/api/v1/pods", "/items"), "[]");
}

TEST_F(SimulatedAgent, ForgetsACommandWhoseClientGoesWhileItWaits) {
  ASSERT_TRUE(start()) << agent_.log();
  create("a", 6);
  ASSERT_TRUE(is_phase("a", "Running"));
  const pid_t client = ::fork();
  ASSERT_GE(client, 0);
  if (client == 0) {
    ::execl(COREHOLD_BINARY, "corehold", "run", "--root", agent_.root().c_str(), "--cpus", "2",
            "--wait", "--name", "patient", "--", "true", nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(is_phase("patient", "Pending")) << agent_.log();
  ::kill(client, SIGKILL);
  EXPECT_TRUE(comes_true([&] {
    return agent_.ask({.target = fmt::format("{}/patient", kPods)}).status == 404;
  })) << agent_.log();
}

}  // namespace
}  // namespace corehold
