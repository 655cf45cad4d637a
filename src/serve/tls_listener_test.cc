// SPDX-License-Identifier: Apache-2.0
#include "serve/tls_listener.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;

const std::string kToken = "0123456789abcdef0123456789abcdef";

int refused(const std::string& target, const std::string& authorization,
            const std::string& method = "GET") {
  const auto refusal =
      admission_over_tls(
          {.method = method, .target = target, .authorization = authorization, .over_tls = true},
          kToken)
          .refusal;
  return refusal ? refusal->status : 0;
}

TEST(AccessOverTls, NeedsTheToken) {
  EXPECT_EQ(refused("/api/v1/pods", "Bearer " + kToken), 0);
  EXPECT_EQ(refused("/api/v1/pods", "bearer " + kToken), 0);
  for (const std::string& wrong :
       {std::string(), std::string("Bearer "), std::string("Bearer"), "Bearer " + kToken + "x",
        "Bearer  " + kToken, "Basic " + kToken, kToken, "Bearer " + kToken.substr(1)}) {
    EXPECT_EQ(refused("/api/v1/pods", wrong), 401) << wrong;
    EXPECT_EQ(refused("/metrics", wrong), 401) << wrong;
    EXPECT_EQ(refused("no path", wrong), 401) << wrong;
    EXPECT_EQ(refused("/", wrong), 401) << wrong;
  }
}

TEST(AccessOverTls, HealthIsForEverybody) {
  for (const char* target : {"/healthz", "/livez?verbose", "/readyz/", "/livez/ping"}) {
    EXPECT_EQ(refused(target, ""), 0) << target;
  }
  EXPECT_EQ(refused("/healthzx", ""), 401);
}

TEST(AccessOverTls, OnlyTheTokenAuthenticates) {
  for (const char* target : {"/healthz", "/api/v1/pods", "/apis/corehold.dev/v1alpha1/run"}) {
    const HttpRequest stranger{.target = target, .authorization = "Bearer x"};
    EXPECT_FALSE(admission_over_tls(stranger, kToken).is_authenticated) << target;
    const HttpRequest known{.target = target, .authorization = "Bearer " + kToken};
    EXPECT_TRUE(admission_over_tls(known, kToken).is_authenticated) << target;
  }
}

TEST(AccessOverTls, IsRefusedAsAnApiServerRefuses) {
  std::ifstream file(COREHOLD_SOURCE_DIR "/tests/recorded/watch/09-status-errors.json");
  std::stringstream text;
  text << file.rdbuf();
  const json::value recorded = json::parse(text.str());
  const json::value* expected = nullptr;
  const auto look = [&](const auto& self, const json::value& value) -> void {
    if (const json::object* object = value.if_object()) {
      const json::value* about = object->if_contains("about");
      if (about != nullptr && *about == "bad bearer token") expected = &object->at("response");
      for (const auto& member : *object) self(self, member.value());
    } else if (const json::array* list = value.if_array()) {
      for (const json::value& each : *list) self(self, each);
    }
  };
  look(look, recorded);
  ASSERT_NE(expected, nullptr);
  const auto refusal = admission_over_tls({.target = "/api/v1/nodes"}, kToken).refusal;
  ASSERT_TRUE(refusal);
  EXPECT_EQ(json::parse(refusal->body), expected->at("body"));
  EXPECT_EQ(refusal->content_type, "application/json");
}

TEST(AccessOverTls, RunIsForTheUnixSocketOnly) {
  for (const char* target :
       {"/apis/corehold.dev/v1alpha1/run", "/apis/corehold.dev/v1alpha1/%72un/?x=y"}) {
    EXPECT_EQ(refused(target, "Bearer " + kToken, "POST"), 403) << target;
  }
  const auto refusal = admission_over_tls({.method = "POST",
                                           .target = "/apis/corehold.dev/v1alpha1/run",
                                           .authorization = "Bearer " + kToken},
                                          kToken)
                           .refusal;
  EXPECT_THAT(refusal->body, HasSubstr("corehold run works over the agent's Unix socket only"));
}

class TlsListener : public testing::Test {
 protected:
  TlsListener() {
    std::string pattern = testing::TempDir() + "listener-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~TlsListener() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Result<std::unique_ptr<TlsServer>> listen(const std::string& address) {
    return listen_with_tls(
        loop_,
        {.root = root_, .node_name = "node-1", .address = address, .handler = [](const auto&) {}},
        log_);
  }

  boost::asio::io_context loop_;
  std::string root_;
  std::ostringstream said_;
  Log log_ = Log::to_stream(said_, LogLevel::kInfo);
};

TEST_F(TlsListener, WritesAKubeconfigWithThePortItGot) {
  const auto server = listen("127.0.0.1:0");
  ASSERT_TRUE(server) << server.error().message;
  const auto kubeconfig = read_file(root_ + "/kubeconfig", 100'000);
  ASSERT_TRUE(kubeconfig) << kubeconfig.error().message;
  EXPECT_THAT(*kubeconfig, HasSubstr("server: https://" + (*server)->place() + "\n"));
  EXPECT_THAT((*server)->place(), testing::Not(testing::EndsWith(":0")));
}

TEST_F(TlsListener, WithoutAnAddressThereIsNoneNorAKubeconfig) {
  ASSERT_TRUE(listen("127.0.0.1:0"));
  ASSERT_TRUE(fs::exists(root_ + "/kubeconfig"));
  const auto server = listen("");
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(*server, nullptr);
  EXPECT_FALSE(fs::exists(root_ + "/kubeconfig"));
}

TEST_F(TlsListener, SaysWhatToDoWhenThePortIsTakenAndGoesOn) {
  const auto first = listen("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error().message;
  const std::string place = (*first)->place();
  fs::remove(root_ + "/kubeconfig");
  const auto second = listen(place);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ((*second)->place(), "");
  EXPECT_THAT(said_.str(), HasSubstr("the API is not served over TLS yet, only over the Unix "
                                     "socket; trying again"));
  EXPECT_THAT(said_.str(),
              HasSubstr(fmt::format("listen.address: {} is taken by another program; stop what is "
                                    "there, or say another address in `listen: {{address: ...}}` "
                                    "of the CoreholdConfiguration in the --config file",
                                    place)));
  const auto kubeconfig = read_file(root_ + "/kubeconfig", 100'000);
  ASSERT_TRUE(kubeconfig) << kubeconfig.error().message;
  EXPECT_THAT(*kubeconfig, HasSubstr("server: https://" + place + "\n"));
}

TEST_F(TlsListener, ServesOnceThePortIsFree) {
  const auto first = listen("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error().message;
  const std::string place = (*first)->place();
  const auto second = listen(place);
  ASSERT_TRUE(second) << second.error().message;
  (*first)->close();
  while ((*second)->place().empty() && loop_.run_one() > 0) {
  }
  EXPECT_EQ((*second)->place(), place);
}

TEST_F(TlsListener, DoesNotTryAgainWhenItIsClosed) {
  const auto first = listen("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = listen((*first)->place());
  ASSERT_TRUE(second) << second.error().message;
  (*second)->close();
  (*first)->close();
  loop_.run();
  EXPECT_EQ((*second)->place(), "");
}

TEST_F(TlsListener, FailsForAnAddressThatIsNotOfThisMachine) {
  const auto server = listen("192.0.2.1:10270");
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("listen.address: "));
}

}  // namespace
}  // namespace corehold
