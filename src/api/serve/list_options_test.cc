// SPDX-License-Identifier: Apache-2.0
#include "api/serve/list_options.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using Match = ListOptions::Match;

std::string list_problem(const QueryParameters& query) {
  const auto options = list_options(query, Resource::kPods);
  return options ? "" : options.error().message;
}

std::string watch_problem(const QueryParameters& query) {
  const auto options = watch_options(query, Resource::kPods);
  return options ? "" : options.error().message;
}

TEST(ListOptionsOf, UnderstandHowOldAListMayBe) {
  const auto match = [](const QueryParameters& query) {
    return list_options(query, Resource::kPods)->match;
  };
  EXPECT_EQ(match({}), Match::kNewest);
  EXPECT_EQ(match({{"resourceVersion", ""}}), Match::kNewest);
  EXPECT_EQ(match({{"resourceVersion", "0"}}), Match::kAnyAge);
  EXPECT_EQ(match({{"resourceVersion", "7"}}), Match::kNotOlderThan);
  EXPECT_EQ(match({{"resourceVersion", "7"}, {"limit", "2"}}), Match::kExact);
  EXPECT_EQ(match({{"resourceVersion", "7"}, {"resourceVersionMatch", "Exact"}}), Match::kExact);
}

TEST(ListOptionsOf, RefuseWhatContradictsItself) {
  EXPECT_EQ(list_problem({{"limit", "x"}}), "strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(list_problem({{"resourceVersion", "99999999999999999999"}}),
            "invalid resource version: resourceVersion: Invalid value: \"99999999999999999999\": "
            "strconv.ParseUint: parsing \"99999999999999999999\": value out of range");
  EXPECT_EQ(list_problem({{"resourceVersion", "3"}, {"resourceVersionMatch", "About"}}),
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: "
            "\"About\": supported values: \"Exact\", \"NotOlderThan\", \"\"");
  const std::string token = to_text({5, std::string("a\0", 2)});
  EXPECT_EQ(list_problem({{"continue", token}, {"resourceVersion", "3"}}),
            "specifying resource version is not allowed when using continue");
  EXPECT_EQ(list_problem({{"sendInitialEvents", "true"}}),
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
            "sendInitialEvents is forbidden for list");
  EXPECT_EQ(watch_problem({{"resourceVersionMatch", "NotOlderThan"}}),
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
}

TEST(WatchOptionsOf, UnderstandWhereToBegin) {
  const auto options = [](const QueryParameters& query) {
    return *watch_options(query, Resource::kPods);
  };
  EXPECT_TRUE(asks_for_watch({{"watch", ""}}));
  EXPECT_TRUE(asks_for_watch({{"watch", "1"}}));
  EXPECT_FALSE(asks_for_watch({{"watch", "False"}}));
  EXPECT_TRUE(options({}).initial_events);
  EXPECT_FALSE(options({}).initial_mark);
  EXPECT_TRUE(options({{"allowWatchBookmarks", "true"}}).initial_mark);
  EXPECT_FALSE(options({{"allowWatchBookmarks", "true"}, {"resourceVersion", "0"}}).initial_mark);
  EXPECT_FALSE(options({{"resourceVersion", "4"}}).initial_events);
  EXPECT_EQ(options({{"resourceVersion", "4"}}).version, 4U);
  EXPECT_EQ(options({{"timeoutSeconds", "9"}}).timeout, std::chrono::seconds(9));
  // A time that can be added to another, in nanoseconds too.
  EXPECT_EQ(options({{"timeoutSeconds", "9223372036854775807"}}).timeout,
            std::chrono::hours(24 * 365));
  EXPECT_FALSE(options({{"sendInitialEvents", "false"}, {"resourceVersionMatch", "NotOlderThan"}})
                   .initial_events);
}

TEST(ContinueTokens, ComeBackAsTheyWere) {
  for (const ContinueToken& token :
       {ContinueToken{2864, std::string("list-1\0", 7)},
        ContinueToken{ContinueToken::kNow, std::string("default/x\0", 10)},
        ContinueToken{1, "~"}}) {
    const auto back = parse_continue_token(to_text(token));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, token);
  }
  // As an API server wrote it.
  EXPECT_EQ(to_text({2864, std::string("list-1\0", 7)}),
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjg2NCwic3RhcnQiOiIvbGlzdC0xXHUwMDAwIn0");
}

TEST(ContinueTokens, CannotBeMadeUp) {
  const auto problem = [](std::string_view text) {
    const auto token = parse_continue_token(text);
    return token ? "" : token.error().message;
  };
  EXPECT_EQ(problem("a!"), "continue key is not valid: illegal base64 data at input byte 1");
  EXPECT_EQ(problem("abc"),
            "continue key is not valid: invalid character 'i' looking for beginning of value");
  EXPECT_EQ(problem("e30"),
            "continue key is not valid: server does not recognize this encoded "
            "version \"\"");
  EXPECT_EQ(problem(to_text({7, "../nodes"})), "continue key is not valid: /../nodes");
  EXPECT_EQ(problem(to_text({0, "x"})),
            "continue key is not valid: incorrect encoded start resourceVersion (version "
            "meta.k8s.io/v1)");
  EXPECT_EQ(problem(to_text({7, "a//b"})), "continue key is not valid: /a//b");
}

}  // namespace
}  // namespace corehold
