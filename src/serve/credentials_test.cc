// SPDX-License-Identifier: Apache-2.0
#include "serve/credentials.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/yaml_document.h"
#include "sys/base64.h"
#include "sys/clock.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr std::chrono::hours kDay{24};

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    std::string pattern = testing::TempDir() + "credentials-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    settings_ = {.root = pattern,
                 .node_name = "node-1",
                 .address = "127.0.0.1:10270",
                 .now = std::chrono::duration_cast<std::chrono::seconds>(wall_now())};
  }
  ~CredentialsTest() override {
    std::error_code ignored;
    fs::remove_all(settings_.root, ignored);
  }

  Credentials prepare() {
    said_.str("");
    auto made = prepare_credentials(settings_, Log::to_stream(said_, LogLevel::kInfo));
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : Credentials();
  }
  Log log() { return Log::to_stream(said_, LogLevel::kInfo); }
  std::string pki(const std::string& name) const { return settings_.root + "/pki/" + name; }
  std::string content(const std::string& path) const { return *read_file(path, 1U << 20U); }
  unsigned mode(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }

  CredentialSettings settings_;
  std::ostringstream said_;
};

TEST_F(CredentialsTest, AreMadeOnceAndForRootAlone) {
  const Credentials made = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("is made\""));
  EXPECT_THAT(said_.str(), Not(HasSubstr("anew")));
  EXPECT_EQ(made.token.size(), 64U);
  EXPECT_TRUE(is_issued_by(made.server.certificate, made.authority));
  EXPECT_EQ(mode(settings_.root + "/pki"), 0700U);
  for (const char* name : {"ca.crt", "ca.key", "server.crt", "server.key", "token"}) {
    EXPECT_EQ(mode(pki(name)), 0600U) << name;
  }
  const Credentials again = prepare();
  EXPECT_EQ(said_.str(), "");
  EXPECT_EQ(again.authority, made.authority);
  EXPECT_EQ(again.server.certificate, made.server.certificate);
  EXPECT_EQ(again.token, made.token);
}

TEST_F(CredentialsTest, AreForTheNamesOfTheNode) {
  settings_.address = "[0:0:0:0:0:0:0:2]:1";
  EXPECT_THAT(server_names(settings_),
              ElementsAre("127.0.0.1", "::1", "::2", "localhost", "node-1"));
  settings_.address = "0.0.0.0:1";
  EXPECT_THAT(server_names(settings_), ElementsAre("127.0.0.1", "::1", "localhost", "node-1"));
  EXPECT_EQ(read_identity(prepare().server)->names, server_names(settings_));
}

TEST_F(CredentialsTest, ANewNameIsANewCertificateOfTheSameAuthority) {
  const Credentials made = prepare();
  settings_.address = "10.1.2.3:10270";
  const Credentials again = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("the certificate of this node is made anew"));
  EXPECT_THAT(said_.str(), HasSubstr("not for 10.1.2.3,127.0.0.1,::1,localhost,node-1"));
  EXPECT_EQ(again.authority, made.authority);
  EXPECT_EQ(again.token, made.token);
  EXPECT_EQ(read_identity(again.server)->names, server_names(settings_));
}

TEST_F(CredentialsTest, AreRenewedBeforeTheyExpire) {
  const Credentials made = prepare();
  settings_.now = read_identity(made.server)->valid.until - 31 * kDay;
  EXPECT_EQ(prepare().server.certificate, made.server.certificate);
  settings_.now += 2 * kDay;
  const Credentials renewed = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("it expires at "));
  EXPECT_NE(renewed.server.certificate, made.server.certificate);
  EXPECT_EQ(renewed.authority, made.authority);
  settings_.now += 10 * 365 * kDay;
  const Credentials later = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("the authority of this node is made anew"));
  EXPECT_NE(later.authority, made.authority);
  EXPECT_TRUE(is_issued_by(later.server.certificate, later.authority));
}

TEST_F(CredentialsTest, AClockThatWasWrongIsNoReasonToStayUnusable) {
  settings_.now += 100 * kDay;
  const Credentials made = prepare();
  settings_.now -= 100 * kDay;
  const Credentials again = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("it is not valid before "));
  EXPECT_NE(again.authority, made.authority);
}

TEST_F(CredentialsTest, WhatIsDamagedIsMadeAnew) {
  const Credentials made = prepare();
  ASSERT_TRUE(write_file_atomically(pki("server.key"), "nonsense"));
  const Credentials second = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("read the key"));
  EXPECT_EQ(second.authority, made.authority);
  EXPECT_NE(second.server.key, made.server.key);
  // Half of it is missing.
  fs::remove(pki("ca.key"));
  const Credentials third = prepare();
  EXPECT_THAT(said_.str(), HasSubstr("the authority of this node is made anew"));
  EXPECT_THAT(said_.str(), HasSubstr("the authority is another"));
  EXPECT_NE(third.authority, made.authority);
  EXPECT_TRUE(is_issued_by(third.server.certificate, third.authority));
  // Another's certificate in its place.
  ASSERT_TRUE(write_file_atomically(pki("ca.crt"), third.server.certificate));
  ASSERT_TRUE(write_file_atomically(pki("ca.key"), third.server.key));
  prepare();
  EXPECT_THAT(said_.str(), HasSubstr("it may not vouch for others"));
}

TEST_F(CredentialsTest, WhatWasThereIsMovedAside) {
  prepare();
  ASSERT_TRUE(write_file_atomically(pki("token"), "short"));
  ASSERT_TRUE(write_file_atomically(pki("server.key"), "nonsense"));
  fs::remove(pki("ca.crt"));
  fs::create_directory(pki("ca.crt"));
  const Credentials made = prepare();
  EXPECT_TRUE(is_issued_by(made.server.certificate, made.authority));
  std::map<std::string, int> aside;
  for (const auto& entry : fs::directory_iterator(settings_.root + "/pki")) {
    const std::string name = entry.path().filename().string();
    if (const auto at = name.find(".corrupt-"); at != std::string::npos)
      ++aside[name.substr(0, at)];
    if (name.starts_with("token.corrupt-")) {
      EXPECT_EQ(content(entry.path().string()), "short");
    }
    if (name.starts_with("server.key.corrupt-")) {
      EXPECT_EQ(content(entry.path().string()), "nonsense");
    }
  }
  EXPECT_THAT(aside, ElementsAre(testing::Pair("ca.crt", 1), testing::Pair("ca.key", 1),
                                 testing::Pair("server.crt", 1), testing::Pair("server.key", 1),
                                 testing::Pair("token", 1)));
}

// A bit of the token is another: no file says what it was but the kubeconfig.
TEST_F(CredentialsTest, ATokenThatIsNotThatOfTheKubeconfigIsTold) {
  ASSERT_TRUE(write_kubeconfig(settings_.root, "[::]:1", prepare(), log()));
  EXPECT_THAT(said_.str(), Not(HasSubstr("copies of the old one are refused")));
  std::string token = content(pki("token"));
  token[3] = token[3] == 'a' ? 'b' : 'a';
  ASSERT_TRUE(write_file_atomically(pki("token"), token));
  ASSERT_TRUE(write_kubeconfig(settings_.root, "[::]:1", prepare(), log()));
  EXPECT_THAT(said_.str(), HasSubstr("copies of the old one are refused"));
}

TEST_F(CredentialsTest, ATokenOfOnesOwnIsKeptIfItIsGoodEnough) {
  prepare();
  const std::string own(40, 'x');
  ASSERT_TRUE(write_file_atomically(pki("token"), own));
  EXPECT_EQ(prepare().token, own);
  for (const std::string& bad : {std::string("short"), own + " \"", std::string(1, '\n')}) {
    ASSERT_TRUE(write_file_atomically(pki("token"), bad));
    EXPECT_EQ(prepare().token.size(), 64U);
    EXPECT_EQ(content(pki("token")).size(), 65U);
  }
}

TEST_F(CredentialsTest, WhatOthersCouldReadTheyCannotAnyMore) {
  prepare();
  ASSERT_EQ(::chmod(pki("token").c_str(), 0644), 0);
  ASSERT_EQ(::chmod((settings_.root + "/pki").c_str(), 0755), 0);
  prepare();
  EXPECT_THAT(said_.str(), HasSubstr("others could read this file"));
  EXPECT_EQ(mode(pki("token")), 0600U);
  EXPECT_EQ(mode(settings_.root + "/pki"), 0700U);
}

TEST_F(CredentialsTest, TheKubeconfigHasAllThatAClientNeeds) {
  const Credentials made = prepare();
  const std::string path = settings_.root + "/kubeconfig";
  ASSERT_TRUE(write_kubeconfig(settings_.root, "0.0.0.0:1234", made, log()));
  EXPECT_EQ(mode(path), 0600U);
  const auto documents = parse_yaml(content(path));
  ASSERT_TRUE(documents) << documents.error().message;
  const auto& document = documents->at(0);
  EXPECT_EQ(document.at("current-context").as_string(), "corehold");
  EXPECT_EQ(document.at_pointer("/users/0/user/token").as_string(), made.token);
  const auto& cluster = document.at_pointer("/clusters/0/cluster");
  EXPECT_EQ(cluster.at("server").as_string(), "https://127.0.0.1:1234");
  EXPECT_EQ(*from_base64(std::string(cluster.at("certificate-authority-data").as_string())),
            made.authority);
  ASSERT_TRUE(write_kubeconfig(settings_.root, "[::]:1", made, log()));
  EXPECT_THAT(content(path), HasSubstr("server: https://[::1]:1\n"));
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(write_kubeconfig(settings_.root, "[::]:1", made, log()));
  EXPECT_EQ(mode(path), 0600U);
  ASSERT_TRUE(remove_kubeconfig(settings_.root));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(remove_kubeconfig(settings_.root));
}

TEST(Base64, GoesBothWays) {
  for (const char* bytes : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(*from_base64(to_base64(bytes)), bytes);
  }
  EXPECT_EQ(to_base64("ab"), "YWI=");
  EXPECT_EQ(*from_base64("YW\nI=\n"), "ab");
  for (const char* bad : {"YWI", "Y===", "====", "YW!="}) EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace corehold
