// SPDX-License-Identifier: Apache-2.0
#include "api/own/run_message.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

const RunRequest kRequest{.name = "bench",
                          .cpus = 2,
                          .memory = "4Gi",
                          .wait = true,
                          .pid = 4711,
                          .command = {"./app", "--fast"},
                          .working_directory = "/srv"};

TEST(RunRequest, ComesBackAsItWent) {
  EXPECT_EQ(*run_request_from_json(to_json(kRequest)), kRequest);
  const RunRequest least{.cpus = 1, .pid = 1, .command = {"true"}};
  EXPECT_EQ(*run_request_from_json(to_json(least)), least);
}

RC_GTEST_PROP(RunRequest, KeepsAnyCommandThatIsText, ()) {
  RunRequest request = kRequest;
  request.command = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::string>>());
  const auto back = run_request_from_json(to_json(request));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == request);
}

std::string problem_with(std::string_view key, const json::value& value) {
  json::object object = to_json(kRequest);
  object[key] = value;
  const auto request = run_request_from_json(object);
  return request ? "" : request.error().message;
}

TEST(RunRequest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(problem_with("cpus", 0), "cpus: must be 1 or more");
  EXPECT_EQ(problem_with("cpus", "2"), "cpus: must be a whole number");
  EXPECT_EQ(problem_with("pid", 0), "pid: must be a process");
  EXPECT_EQ(problem_with("pid", -3), "pid: must be a number from 0");
  EXPECT_EQ(problem_with("command", json::array()), "command: must not be empty");
  EXPECT_EQ(problem_with("command", json::array{1}), "command[0]: must be a string");
  EXPECT_TRUE(problem_with("memory", "lots").starts_with("memory: "));
  EXPECT_EQ(problem_with("memory", "-1"), "memory: must be more than nothing");
}

TEST(RunLine, ComesBackAsItWent) {
  for (const RunLine& line :
       {RunLine(RunWaiting{.message = "2 CPUs asked for, 1 free"}),
        RunLine(RunGranted{.pod = "default/bench", .cpus = "2-3"}),
        RunLine(ApiStatus{.reason = StatusReason::kExhausted, .message = "too little"})}) {
    const auto back = parse_run_line(json::serialize(to_json(line)));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, line);
  }
}

TEST(RunLine, IsOneOfThreeThings) {
  EXPECT_EQ(parse_run_line(R"({"state":"Gone"})").error().message,
            "state: must be Waiting or Granted, not \"Gone\"");
  EXPECT_FALSE(parse_run_line("{"));
  EXPECT_FALSE(parse_run_line(""));
  EXPECT_FALSE(parse_run_line("[]"));
}

}  // namespace
}  // namespace corehold
