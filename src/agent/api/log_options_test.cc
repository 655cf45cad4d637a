// SPDX-License-Identifier: Apache-2.0
#include "agent/api/log_options.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;

ApiResult<LogOptions> options(const std::string& query) {
  const auto target = HttpTarget::parse("/log?" + query);
  CHECK(target);
  return log_options(*target, "db", 1'000'000'000'000ms);
}

std::string refusal(const std::string& query) {
  const auto read = options(query);
  return read ? "" : fmt::format("{} {}", http_code(read.error()), read.error().message);
}

TEST(LogOptions, AreAllReadFromTheQuery) {
  const auto read = options(
      "tailLines=3&limitBytes=10&sinceSeconds=60&timestamps=true&previous=true&follow=1&stream="
      "All");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->query.tail, 3U);
  EXPECT_EQ(read->query.limit, 10U);
  EXPECT_EQ(read->query.since, 999'999'940'000ms);
  EXPECT_FALSE(read->query.stream);
  EXPECT_TRUE(read->query.timestamps && read->previous && read->follow);
  EXPECT_EQ(options("stream=Stdout")->query.stream, LogStream::kOut);
  EXPECT_EQ(options("stream=Stderr")->query.stream, LogStream::kError);
  EXPECT_EQ(options("sinceTime=2026-01-01T00:00:00Z")->query.since, 1'767'225'600'000ms);
  EXPECT_TRUE(options("sinceSeconds=9223372036854775807"));
}

TEST(LogOptions, ThatTheApiDoesNotHaveAreRefusedInItsWords) {
  EXPECT_EQ(refusal("limitBytes=0"),
            "422 PodLogOptions \"db\" is invalid: limitBytes: Invalid value: 0: must be greater "
            "than 0");
  EXPECT_EQ(refusal("stream=stdout"),
            "422 PodLogOptions \"db\" is invalid: stream: Unsupported value: \"stdout\": supported "
            "values: \"All\", \"Stderr\", \"Stdout\"");
  EXPECT_NE(refusal("stream=Stdout&tailLines=1").find("mutually exclusive"), std::string::npos);
  EXPECT_NE(refusal("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z").find("at most one"),
            std::string::npos);
  EXPECT_EQ(refusal("limitBytes=x"), "400 limitBytes: \"x\" is no whole number of 0 or more");
}

}  // namespace
}  // namespace corehold
