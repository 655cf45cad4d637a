// SPDX-License-Identifier: Apache-2.0
//
// How the manager is asked. What is asked of it is in static_pod_plan_test.cc, and how a whole
// agent follows its files in tests/agent/static_pods_test.cc.
#include "agent/static/static_pods.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/commit/testing.h"
#include "agent/shell/testing.h"
#include "sys/worker_testing.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string new_directory() {
  std::string pattern = (fs::temp_directory_path() / "corehold-static-XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  return pattern;
}

// A manager that can be made to fail, and otherwise does at once what it is asked.
class StaticPodsAsked : public testing::Test, public ShellListener {
 protected:
  ~StaticPodsAsked() override { fs::remove_all(directory_); }

  void replied(const Reply& reply) override { requests_.replied(reply); }
  void happened(const EmitEvent&, const NodeState&) override {}
  void counted(const CountMetric&) override {}
  void changed(const NodeState& node, std::span<const std::string> touched) override {
    names_.follow(node, touched);
    pods_.look(touched);
  }

  Outcome step(NodeState node, std::span<const Command> commands) {
    Outcome outcome{.node = std::move(node)};
    for (const Command& command : commands) {
      outcome.effects.emplace_back(taken(outcome.node, command, outcome.touched_pods));
    }
    return outcome;
  }
  Reply taken(NodeState& node, const Command& command, std::vector<std::string>& touched) {
    RequestId request = 0;
    const bool fails = failures_ > 0;
    if (const auto* create = std::get_if<CreatePod>(&command)) {
      request = create->request;
      touched.push_back(create->pod.uid);
      asked_.push_back("create " + create->pod.name);
      if (!fails) {
        node.running.pods[create->pod.uid].record = {.pod = create->pod, .source = create->source};
      }
    } else if (const auto* remove = std::get_if<DeletePod>(&command)) {
      request = remove->request;
      touched.push_back(remove->uid);
      asked_.push_back("delete " + node.running.pods.at(remove->uid).record.pod.name);
      if (!fails) node.running.pods.erase(remove->uid);
    }
    Reply reply{.request = request};
    if (fails) reply.error = Error{Code::kIo, "the disk is full"};
    failures_ -= fails ? 1 : 0;
    return reply;
  }
  void write(const std::string& name) const {
    std::ofstream(directory_ / (name + ".yaml"))
        << "kind: Pod\nmetadata: {name: " << name
        << "}\nspec: {containers: [{name: main, command: [serve]}]}\n";
  }
  // Until nothing is left to do but to wait for files.
  void settle(std::size_t asked) {
    while (asked_.size() < asked) loop_.run_one();
    loop_.poll();
  }

  fs::path directory_{new_directory()};
  boost::asio::io_context loop_;
  std::vector<std::string> diary_;
  FakeRuntime runtime_{diary_};
  FakeStore store_{diary_};
  ManualWorker worker_;
  Committer committer_{{.loop = loop_, .worker = worker_, .store = store_}};
  std::ostringstream lines_;
  Log log_ = Log::to_stream(lines_, LogLevel::kInfo);
  std::vector<std::string> asked_;
  int failures_ = 0;
  Requests requests_;
  PodNames names_;
  Shell shell_{{.step = [this](NodeState node, std::span<const Command> commands,
                               const Now&) { return step(std::move(node), commands); }},
               {},
               {.loop = loop_,
                .runtime = runtime_,
                .store = committer_,
                .listener = *this,
                .log = log_,
                .now = [] { return Now{}; }}};
  StaticPods pods_{{.loop = loop_,
                    .shell = shell_,
                    .names = names_,
                    .requests = requests_,
                    .log = log_,
                    .tell = [](const EmitEvent&) {},
                    .path = directory_.string(),
                    .rules = {.node_name = "n", .pod_rules = {.image_required = false}},
                    .retry = std::chrono::milliseconds(1)}};
};

TEST_F(StaticPodsAsked, OnceForEachPod) {
  write("a");
  write("b");
  pods_.begin();
  settle(2);
  EXPECT_THAT(asked_, ElementsAre("create a-n", "create b-n"));
}

TEST_F(StaticPodsAsked, AgainAfterAWhileWhenItFails) {
  write("a");
  failures_ = 2;
  pods_.begin();
  settle(3);
  EXPECT_THAT(asked_, ElementsAre("create a-n", "create a-n", "create a-n"));
  EXPECT_THAT(lines_.str(), HasSubstr("the disk is full"));
  fs::remove(directory_ / "a.yaml");
  failures_ = 1;
  settle(5);
  EXPECT_EQ(asked_.back(), "delete a-n");
  EXPECT_TRUE(shell_.node().running.pods.empty());
}

TEST_F(StaticPodsAsked, NotForAFileWhoseNameIsNoUtf8) {
  write("a\xff");
  write("b");
  pods_.begin();
  settle(1);
  while (lines_.str().find("rename it") == std::string::npos) loop_.run_one();
  EXPECT_THAT(asked_, ElementsAre("create b-n"));
  EXPECT_THAT(lines_.str(), HasSubstr("a\\\\xff.yaml"));
}

TEST_F(StaticPodsAsked, ForNoneWhileTheDirectoryCannotBeRead) {
  fs::remove(directory_);
  ASSERT_EQ(::mkfifo(directory_.c_str(), 0600), 0);
  pods_.begin();
  while (lines_.str().find("cannot read static pods") == std::string::npos) loop_.run_one();
  loop_.poll();
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace corehold
