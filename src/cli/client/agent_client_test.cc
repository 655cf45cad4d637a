// SPDX-License-Identifier: Apache-2.0
#include "cli/client/agent_client.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/client/kubeconfig.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"(
apiVersion: v1
kind: Config
clusters:
- name: other
  cluster: {server: "https://elsewhere:6443"}
- name: node
  cluster:
    server: https://127.0.0.1:10270
    certificate-authority-data: UEVN
users:
- {name: admin, user: {token: secret}}
contexts:
- {name: here, context: {cluster: node, user: admin}}
current-context: here
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

class AgentAddressTest : public testing::Test {
 protected:
  AgentAddressTest() {
    std::string pattern = testing::TempDir() + "address-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~AgentAddressTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(root_ + "/" + name, text));
  }
  // Where the client goes, or why nowhere.
  std::string place(const std::string& server, const std::string& kubeconfig = "") {
    const auto client =
        AgentClient::at({.root = root_, .server = server, .kubeconfig = kubeconfig});
    return client ? client->endpoint().text() : client.error().message;
  }

  std::string root_;
};

TEST_F(AgentAddressTest, IsTheSocketUnlessSaidOtherwise) {
  write("kubeconfig", kText);
  EXPECT_EQ(place(""), root_ + "/run/corehold.sock");
  EXPECT_EQ(place("unix:/run/x"), "/run/x");
  EXPECT_EQ(place("https://node-1:10270"), "https://node-1:10270");
  EXPECT_EQ(place("https://[::1]:1/"), "https://[::1]:1");
  EXPECT_EQ(place("https://node-1"), "https://node-1:443");
  EXPECT_EQ(place("https://[::1]"), "https://[::1]:443");
  for (const char* wrong : {"http://node-1:80", "unix:", "node-1:80"}) {
    EXPECT_THAT(place(wrong), HasSubstr("must be unix:PATH or https://HOST:PORT")) << wrong;
  }
  for (const char* wrong : {"https://", "https://node-1:x", "https://node-1:1/path"}) {
    EXPECT_THAT(place(wrong), HasSubstr("must be https://HOST:PORT")) << wrong;
  }
}

TEST_F(AgentAddressTest, TakesAuthorityAndTokenFromTheKubeconfig) {
  write("kubeconfig", kText);
  const auto client = AgentClient::at({.root = root_, .server = "https://localhost:1"});
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->endpoint().authority, "PEM");
  EXPECT_EQ(client->endpoint().token, "secret");
  EXPECT_FALSE(client->is_local());
}

TEST_F(AgentAddressTest, TakesTheServerFromAKubeconfigThatIsGiven) {
  write("mine", kText);
  EXPECT_EQ(place("", root_ + "/mine"), "https://127.0.0.1:10270");
  EXPECT_EQ(place("https://localhost:1", root_ + "/mine"), "https://localhost:1");
}

TEST_F(AgentAddressTest, SaysWhichFileIsMissing) {
  EXPECT_EQ(place("https://localhost:1"),
            "open " + root_ +
                "/kubeconfig: ENOENT; give the agent's with --kubeconfig FILE, "
                "https://localhost:1 needs its authority and token");
  EXPECT_EQ(place("", root_ + "/none"), "open " + root_ + "/none: ENOENT");
}

TEST_F(AgentAddressTest, KubeconfigsMayNameFiles) {
  write("ca.pem", "PEM of a file");
  write("token", "token of a file\n");
  std::string text = replaced(kText, "certificate-authority-data: UEVN",
                              "certificate-authority: " + root_ + "/ca.pem");
  text = replaced(text, "token: secret", "tokenFile: token");
  write("mine", text);
  const auto found = read_kubeconfig(root_ + "/mine");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->authority, "PEM of a file");
  EXPECT_EQ(found->token, "token of a file");
}

TEST_F(AgentAddressTest, SaysWhatAKubeconfigLacks) {
  const auto trouble = [&](const std::string& from, const std::string& to) {
    write("bad", replaced(kText, from, to));
    const auto found = read_kubeconfig(root_ + "/bad");
    return found ? "" : found.error().message.substr(root_.size() + 1);
  };
  EXPECT_EQ(trouble("kind: Config", "kind: Pod"), "bad: is no kubeconfig");
  EXPECT_EQ(trouble("current-context: here", ""), "bad: there is no context \"\"");
  EXPECT_EQ(trouble("cluster: node", "cluster: gone"), "bad: there is no cluster \"gone\"");
  EXPECT_EQ(trouble("user: admin", "user: gone"), "bad: there is no user \"gone\"");
  EXPECT_EQ(trouble("token: secret", "password: secret"), "bad: the user has no token");
  EXPECT_EQ(trouble("UEVN", "'!'"), "bad: certificate-authority-data: is no base64");
  EXPECT_EQ(trouble("certificate-authority-data", "x"),
            "bad: the cluster has no certificate-authority-data");
  EXPECT_THAT(trouble("token: secret", "token: [1]"), HasSubstr("token"));
}

}  // namespace
}  // namespace corehold
