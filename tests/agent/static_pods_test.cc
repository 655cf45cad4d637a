// SPDX-License-Identifier: Apache-2.0
//
// Static pods on a whole simulated agent: files come, change, break, move and go.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_process.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class StaticPods : public testing::Test {
 protected:
  // The path is relative to the configuration file.
  bool start(const std::string& path = "manifests") {
    std::ofstream(agent_.root() + "/node.yaml")
        << "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
        << "cpuManagerPolicy: static\nreservedSystemCPUs: \"0-1\"\n"
        << (path.empty() ? "" : "staticPodPath: " + path + "\n");
    if (!agent_.start(
            {"--simulate", "package:1 core:4 pu:2", "--config", agent_.root() + "/node.yaml"})) {
      return false;
    }
    node_ = agent_.field("/api/v1/nodes", "/items/0/metadata/name");
    return true;
  }
  fs::path directory() const { return fs::path(agent_.root()) / "manifests"; }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(directory() / file) << text;
  }
  static std::string pod(const std::string& name, int cpus = 1, int generation = 1) {
    return pod_text(name, cpus, fmt::format("sleep 1000 # {}", generation));
  }
  std::string path_of(const std::string& name) const {
    return fmt::format("{}/{}-{}", kPods, name, node_);
  }
  std::string uid(const std::string& name) const {
    return agent_.field(path_of(name), "/metadata/uid");
  }
  bool is_phase(const std::string& name, const std::string& phase) const {
    return comes_true([&] { return agent_.field(path_of(name), "/status/phase") == phase; });
  }
  bool is_gone(const std::string& name) const {
    return comes_true([&] { return agent_.ask({.target = path_of(name)}).status == 404; });
  }
  bool is_replaced(const std::string& name, const std::string& old_uid) const {
    return comes_true([&] {
      const std::string now = uid(name);
      return !now.empty() && now != old_uid &&
             agent_.field(path_of(name), "/status/phase") == "Running";
    });
  }
  std::string started_at(const std::string& name) const {
    return agent_.field(path_of(name), "/status/containerStatuses/0/state/running/startedAt");
  }
  // The messages of all warnings about static pods.
  std::string warnings() const {
    std::string all;
    const json::value events = agent_.get("/api/v1/events");
    for (const json::value& event : events.at("items").as_array()) {
      if (event.at("reason").as_string() != "InvalidStaticPod") continue;
      all += std::string(event.at("message").as_string()) + "\n";
    }
    return all;
  }
  bool is_warned_of(const std::string& text) const {
    return comes_true([&] { return warnings().find(text) != std::string::npos; });
  }
  // A change of one file is seen after all that came before it.
  void let_pass() {
    const std::string name = fmt::format("pass{}", ++passes_);
    write(name + ".yaml", pod(name, 0));
    ASSERT_TRUE(is_phase(name, "Running")) << agent_.log();
  }

  AgentProcess agent_;
  std::string node_;
  int passes_ = 0;
};

TEST_F(StaticPods, RunForAsLongAsTheirFilesAreThere) {
  fs::create_directory(directory());
  write("early.yaml", pod("early"));
  write(".hidden.yaml", pod("hidden"));
  fs::create_directory(directory() / "below");
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("early", "Running")) << agent_.log();
  write("late.json", pod("late", 2));
  ASSERT_TRUE(is_phase("late", "Running")) << agent_.log();
  EXPECT_EQ(agent_.field("/apis/corehold.dev/v1alpha1/cpus", "/shared"), "0-1,3,6-7");
  EXPECT_EQ(agent_.field(path_of("late"), "/metadata/annotations/kubernetes.io~1config.source"),
            "file");
  EXPECT_EQ(agent_.field(path_of("late"), "/metadata/annotations/kubernetes.io~1config.mirror"),
            uid("late"));
  EXPECT_NE(agent_.field(path_of("late"), "/metadata/annotations/kubernetes.io~1config.seen"), "");
  fs::remove(directory() / "early.yaml");
  EXPECT_TRUE(is_gone("early")) << agent_.log();
  EXPECT_TRUE(is_phase("late", "Running"));
  EXPECT_EQ(agent_.ask({.target = path_of("hidden")}).status, 404);
  EXPECT_EQ(warnings(), "");
}

TEST_F(StaticPods, AChangedFileIsAnotherPodOnceTheOldOneIsGone) {
  fs::create_directory(directory());
  // All the CPUs there are: both cannot be there at once.
  write("a.yaml", pod("a", 6));
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("a", "Running"));
  const std::string first = uid("a");
  write("a.yaml", pod("a", 6, 2));
  ASSERT_TRUE(is_replaced("a", first)) << agent_.log();
  const std::string second = uid("a");
  // As configuration tools do it.
  write(".a.yaml.new", pod("a", 6, 3));
  fs::rename(directory() / ".a.yaml.new", directory() / "a.yaml");
  EXPECT_TRUE(is_replaced("a", second)) << agent_.log();
  EXPECT_EQ(warnings(), "");
}

TEST_F(StaticPods, GoOnWhenOnlyTheWritingOrTheNameOfTheFileChanges) {
  fs::create_directory(directory());
  write("a.yaml", pod("a"));
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("a", "Running"));
  const std::string first = uid("a");
  const std::string since = started_at("a");
  write("a.yaml", "# JSON is YAML, and this is a comment\n" + pod("a"));
  fs::rename(directory() / "a.yaml", directory() / "b.yaml");
  let_pass();
  EXPECT_EQ(uid("a"), first);
  EXPECT_EQ(started_at("a"), since);
  EXPECT_THAT(agent_.log(), Not(HasSubstr("deleting a static pod")));
}

TEST_F(StaticPods, GoOnWhenTheirFileBreaksAndFollowItWhenItIsMended) {
  fs::create_directory(directory());
  write("a.yaml", pod("a"));
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("a", "Running"));
  const std::string first = uid("a");
  write("a.yaml", "kind: Pod\nmetadata:\n  name: a\nspec:\n  containers: 3\n");
  const std::string where = (directory() / "a.yaml").string();
  ASSERT_TRUE(is_warned_of(where + ":5: spec.containers")) << warnings() << agent_.log();
  EXPECT_THAT(warnings(), HasSubstr("the pod that runs from its former content goes on"));
  EXPECT_THAT(agent_.log(), HasSubstr("a static pod file is not as it should be"));
  EXPECT_EQ(uid("a"), first);
  // The agent's next life knows the pod and its file as well.
  ASSERT_EQ(agent_.end(SIGTERM), 0);
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_warned_of(where + ":5: ")) << agent_.log();
  let_pass();
  EXPECT_EQ(uid("a"), first);
  write("a.yaml", pod("a", 1, 2));
  EXPECT_TRUE(is_replaced("a", first)) << agent_.log();
}

TEST_F(StaticPods, AreFoundAgainByTheNextAgent) {
  fs::create_directory(directory());
  write("kept.yaml", pod("kept"));
  write("gone.yaml", pod("gone"));
  write("changed.yaml", pod("changed"));
  ASSERT_TRUE(start()) << agent_.log();
  for (const char* name : {"kept", "gone", "changed"}) ASSERT_TRUE(is_phase(name, "Running"));
  const std::string kept = uid("kept");
  const std::string since = started_at("kept");
  const std::string changed = uid("changed");
  agent_.end(SIGKILL);
  fs::remove(directory() / "gone.yaml");
  write("changed.yaml", pod("changed", 1, 2));
  write("new.yaml", pod("new"));
  ASSERT_TRUE(start()) << agent_.log();
  EXPECT_TRUE(is_gone("gone")) << agent_.log();
  EXPECT_TRUE(is_replaced("changed", changed)) << agent_.log();
  EXPECT_TRUE(is_phase("new", "Running"));
  EXPECT_EQ(uid("kept"), kept);
  EXPECT_EQ(started_at("kept"), since);
}

TEST_F(StaticPods, GoWithTheirDirectoryAndComeWithIt) {
  ASSERT_TRUE(start()) << agent_.log();
  fs::create_directory(directory());
  write("a.yaml", pod("a"));
  ASSERT_TRUE(is_phase("a", "Running")) << agent_.log();
  fs::rename(directory(), directory().string() + ".off");
  ASSERT_TRUE(is_gone("a")) << agent_.log();
  fs::rename(directory().string() + ".off", directory());
  EXPECT_TRUE(is_phase("a", "Running")) << agent_.log();
  // Without the setting they are nobody's.
  ASSERT_EQ(agent_.end(SIGTERM), 0);
  ASSERT_TRUE(start(""));
  EXPECT_TRUE(is_gone("a")) << agent_.log();
}

TEST_F(StaticPods, MayBeOneFile) {
  ASSERT_TRUE(start("one.yaml")) << agent_.log();
  const std::string file = agent_.root() + "/one.yaml";
  std::ofstream(file) << pod("a");
  ASSERT_TRUE(is_phase("a", "Running")) << agent_.log();
  const std::string first = uid("a");
  ASSERT_TRUE(write_file_atomically(file, pod("a", 1, 2)));
  ASSERT_TRUE(is_replaced("a", first)) << agent_.log();
  fs::remove(file);
  EXPECT_TRUE(is_gone("a")) << agent_.log();
}

TEST_F(StaticPods, AreOutOfTheApisReach) {
  fs::create_directory(directory());
  write("a.yaml", pod("a"));
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("a", "Running"));
  const std::string first = uid("a");
  const HttpAnswer deleted = agent_.ask({.method = "DELETE", .target = path_of("a")});
  EXPECT_EQ(deleted.status, 403);
  EXPECT_THAT(deleted.body, HasSubstr((directory() / "a.yaml").string()));
  EXPECT_EQ(agent_
                .ask({.method = "PATCH",
                      .target = path_of("a"),
                      .body = R"({"metadata": {"labels": {"a": "b"}}})",
                      .content_type = "application/merge-patch+json"})
                .status,
            403);
  EXPECT_EQ(agent_.ask({.method = "DELETE", .target = kPods}).status, 200);
  let_pass();
  EXPECT_EQ(uid("a"), first);
  EXPECT_THAT(agent_.log(), Not(HasSubstr("deleting a static pod")));
}

TEST_F(StaticPods, FailWithTheKubeletsReasonWhenTheyDoNotFit) {
  fs::create_directory(directory());
  write("large.yaml", pod("large", 7));
  ASSERT_TRUE(start()) << agent_.log();
  ASSERT_TRUE(is_phase("large", "Failed")) << agent_.log();
  EXPECT_EQ(agent_.field(path_of("large"), "/status/reason"), "OutOfcpu");
  EXPECT_THAT(agent_.field(path_of("large"), "/status/message"),
              AllOf(StartsWith("Pod was rejected: "),
                    HasSubstr("not enough cpus available to satisfy request")));
  EXPECT_EQ(agent_.field(path_of("large"), "/spec/nodeName"), node_);
  EXPECT_NE(agent_.field(path_of("large"), "/status/startTime"), "");
  write("large.yaml", pod("large", 6));
  EXPECT_TRUE(is_phase("large", "Running")) << agent_.log();
}

TEST_F(StaticPods, WaitForTheNameOfAPodOfTheApi) {
  fs::create_directory(directory());
  ASSERT_TRUE(start()) << agent_.log();
  const std::string name = "a-" + node_;
  ASSERT_EQ(agent_.ask({.method = "POST", .target = kPods, .body = pod(name)}).status, 201);
  ASSERT_TRUE(is_phase("a", "Running"));
  write("a.yaml", pod("a", 1, 2));
  ASSERT_TRUE(is_warned_of(fmt::format("there is a pod default/{} already", name)));
  const std::string other = uid("a");
  ASSERT_EQ(agent_.ask({.method = "DELETE", .target = path_of("a")}).status, 200);
  EXPECT_TRUE(is_replaced("a", other)) << agent_.log();
  // Twice in two files: the first counts.
  write("b.yaml", pod("a", 1, 3));
  ASSERT_TRUE(is_warned_of("a.yaml already, which counts"));
}

}  // namespace
}  // namespace corehold
