// SPDX-License-Identifier: Apache-2.0
#include "pod/restart_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"

namespace corehold {
namespace {

constexpr auto kRestart = std::optional(RestartAction::kRestart);
constexpr auto kRestartAll = std::optional(RestartAction::kRestartAll);

std::optional<RestartAction> action(std::string_view rules, int code,
                                    const std::string& list = "containers") {
  const auto pods = parse_pods_json(
      fmt::format(R"({{"kind":"Pod","metadata":{{"name":"p"}},"spec":{{"{}":[{{"name":"a"}},)"
                  R"({{"name":"c","restartPolicy":"Never","restartPolicyRules":{}}}]}}}})",
                  list, rules));
  EXPECT_TRUE(pods) << pods.error().message;
  if (!pods) return std::nullopt;
  const Pod& pod = pods->front();
  EXPECT_EQ(restart_action(pod, *pod.find("a"), code), std::nullopt);
  return restart_action(pod, *pod.find("c"), code);
}

TEST(RestartRules, FitByTheirExitCodes) {
  constexpr const char* kIn =
      R"([{"action":"Restart","exitCodes":{"operator":"In","values":[3,42]}}])";
  EXPECT_EQ(action(kIn, 42), kRestart);
  EXPECT_EQ(action(kIn, 1), std::nullopt);
  constexpr const char* kNotIn =
      R"([{"action":"RestartAllContainers","exitCodes":{"operator":"NotIn","values":[0,1]}}])";
  EXPECT_EQ(action(kNotIn, 1), std::nullopt);
  EXPECT_EQ(action(kNotIn, 42), kRestartAll);
  EXPECT_EQ(action(kNotIn, 42, "initContainers"), kRestartAll);
  constexpr const char* kAnything = R"([{"action":"Restart","exitCodes":{"operator":"NotIn"}}])";
  EXPECT_EQ(action(kAnything, 0), kRestart);
}

TEST(RestartRules, TheFirstThatFitsCounts) {
  constexpr const char* kTwo =
      R"([{"action":"Restart","exitCodes":{"operator":"In","values":[1]}},)"
      R"({"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[1,2]}}])";
  EXPECT_EQ(action(kTwo, 1), kRestart);
  EXPECT_EQ(action(kTwo, 2), kRestartAll);
  constexpr const char* kUnknown =
      R"([{"action":"Explode","exitCodes":{"operator":"In","values":[1]}},)"
      R"({"action":"Restart","exitCodes":{"operator":"In","values":[1]}}])";
  EXPECT_EQ(action(kUnknown, 1), std::nullopt);
}

TEST(RestartRules, OfAWrongShapeFitNothing) {
  for (const char* rules :
       {"7", "[7]", R"([{"action":"Restart"}])", R"([{"action":"Restart","exitCodes":[1]}])",
        R"([{"action":"Restart","exitCodes":{"values":[1]}}])",
        R"([{"action":"Restart","exitCodes":{"operator":"In","values":["1"]}}])",
        R"([{"action":7,"exitCodes":{"operator":"In","values":[1]}}])"}) {
    EXPECT_EQ(action(rules, 1), std::nullopt) << rules;
  }
}

}  // namespace
}  // namespace corehold
