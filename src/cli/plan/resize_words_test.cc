// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/resize_words.h"

#include <gtest/gtest.h>

#include "pod/testing.h"

namespace corehold {
namespace {

Quantity amount(std::string_view text) {
  const auto parsed = positive_amount(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Quantity{};
}

TEST(WithAmount, KeepsRequestAndLimitEqualWhereTheyWere) {
  const Resources both{.requests = {{"cpu", amount("2")}}, .limits = {{"cpu", amount("2000m")}}};
  const Resources grown = with_amount(both, "cpu", amount("4"));
  EXPECT_EQ(grown.requests.at("cpu"), amount("4"));
  EXPECT_EQ(grown.limits.at("cpu"), amount("4"));
  const Resources limit_only{.limits = {{"cpu", amount("2")}}};
  EXPECT_EQ(with_amount(limit_only, "cpu", amount("1")).limits.at("cpu"), amount("1"));
}

TEST(WithAmount, LeavesAHigherLimitAloneAndAddsNone) {
  const Resources burst{.requests = {{"cpu", amount("1")}}, .limits = {{"cpu", amount("4")}}};
  EXPECT_EQ(with_amount(burst, "cpu", amount("2")).limits.at("cpu"), amount("4"));
  EXPECT_EQ(with_amount(burst, "cpu", amount("5")).limits.at("cpu"), amount("5"));
  const Resources request_only{.requests = {{"cpu", amount("1")}}};
  EXPECT_TRUE(with_amount(request_only, "cpu", amount("2")).limits.empty());
}

class ResizeWords : public testing::Test {
 protected:
  ResizeWords() {
    pods_ = {pod_of("web", {"init:setup cpu=1 memory=1Gi", "main cpu=2 memory=1Gi"}),
             pod_of("db", {"sidecar:log cpu=1 memory=1Gi", "pg cpu=4 memory=1Gi"}),
             pod_of("web", {"main cpu=2 memory=1Gi"})};
    pods_[2].namespace_name = "other";
  }

  std::string mistake(const std::vector<std::string>& words) {
    const auto pods = resized_pods(pods_, words);
    return pods ? "" : pods.error().message;
  }

  std::vector<Pod> pods_{};
};

TEST_F(ResizeWords, OfOnePodAreOneResize) {
  const auto pods = resized_pods(pods_, {"db/pg=6", "default/web=4", "db/log=2"});
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[0].name, "db");
  EXPECT_EQ((*pods)[0].find("pg")->limit("cpu"), amount("6"));
  EXPECT_EQ((*pods)[0].find("log")->request("cpu"), amount("2"));
  EXPECT_EQ((*pods)[1].find("main")->request("cpu"), amount("4"));
  EXPECT_EQ((*pods)[1].find("setup")->request("cpu"), amount("1"));
}

TEST_F(ResizeWords, MayNameTheNamespace) {
  const auto pods = resized_pods(pods_, {"other/web/main=4", "other/web=6"});
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().message, "--resize: other/web/main is given twice");
}

TEST_F(ResizeWords, SayWhatIsMeantWhereTheyAreNotClear) {
  EXPECT_EQ(mistake({"web/main=4"}),
            "--resize web/main=4: name one of default/web/main, other/web/main");
  EXPECT_EQ(mistake({"db=4"}),
            "--resize db=4: pod default/db has the containers log, pg; name one");
  EXPECT_EQ(mistake({"nobody=4"}),
            "--resize nobody=4: no such container in the plan; there are default/web/main, "
            "default/db/log, default/db/pg, other/web/main");
  EXPECT_EQ(mistake({"default/web/setup=4"}), "") << "refused by who decides";
}

TEST_F(ResizeWords, RefuseWhatIsNoWord) {
  for (const char* word : {"", "db", "/pg=4", "a/b/c/d=1", "db/=2", "=2"}) {
    EXPECT_NE(mistake({word}).find("must be POD/CONTAINER=N"), std::string::npos) << word;
  }
  EXPECT_EQ(mistake({"db/pg=0"}), "--resize \"db/pg=0\": \"0\" is not above zero");
  EXPECT_EQ(mistake({"db/pg=-2"}), "--resize \"db/pg=-2\": \"-2\" is not above zero");
  EXPECT_EQ(mistake({"db/pg=two"}),
            "--resize \"db/pg=two\": \"two\" is no amount: write one as in 4, 500m or 512Mi");
  EXPECT_NE(mistake({"db/pg=9e18"}), "");
}

}  // namespace
}  // namespace corehold
