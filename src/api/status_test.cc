// SPDX-License-Identifier: Apache-2.0
#include "api/status.h"

#include <array>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::array kReasons{StatusReason::kBadRequest,       StatusReason::kUnauthorized,
                              StatusReason::kForbidden,        StatusReason::kNotFound,
                              StatusReason::kMethodNotAllowed, StatusReason::kAlreadyExists,
                              StatusReason::kConflict,         StatusReason::kExhausted,
                              StatusReason::kTooLarge,         StatusReason::kUnsupportedMedia,
                              StatusReason::kInvalid,          StatusReason::kInternal,
                              StatusReason::kUnavailable,      StatusReason::kNone,
                              StatusReason::kHeaderTooLarge};

TEST(ApiStatus, ComesBackAsItWent) {
  for (const StatusReason reason : kReasons) {
    const ApiStatus status{
        .reason = reason, .message = "pods \"a\" not found", .kind = "pods", .name = "a"};
    const auto back = status_from_json(to_json(status));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, status);
  }
}

TEST(ApiStatus, HasTheShapeOfKubernetes) {
  EXPECT_EQ(json::serialize(to_json(ApiStatus{.reason = StatusReason::kNotFound,
                                              .message = "pods \"a\" not found",
                                              .kind = "pods",
                                              .name = "a"})),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"pods \"a\" not found","reason":"NotFound",)"
            R"("details":{"name":"a","kind":"pods"},"code":404})");
}

TEST(ApiStatus, TellsEveryCauseWithItsField) {
  const ApiStatus status{
      .reason = StatusReason::kInvalid,
      .message = "PatchOptions.meta.k8s.io \"\" is invalid",
      .kind = "PatchOptions",
      .group = "meta.k8s.io",
      .causes = {{.reason = "FieldValueRequired", .message = "Required value", .field = "force"}}};
  EXPECT_EQ(json::serialize(to_json(status).at("details")),
            R"({"group":"meta.k8s.io","kind":"PatchOptions","causes":[)"
            R"({"reason":"FieldValueRequired","message":"Required value","field":"force"}]})");
  const auto back = status_from_json(to_json(status));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, status);
}

TEST(ApiStatus, MayHaveNoReasonOrEmptyDetails) {
  EXPECT_EQ(json::serialize(to_json({.reason = StatusReason::kNone, .message = "why"})),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"why","code":500})");
  const ApiStatus status{.reason = StatusReason::kInvalid, .message = "no", .has_details = true};
  EXPECT_EQ(json::serialize(to_json(status).at("details")), "{}");
  EXPECT_EQ(*status_from_json(to_json(status)), status);
}

TEST(ApiStatus, IsUtf8WhateverItQuotes) {
  const json::object object = to_json({.message = "bad \xff\xfe, good \xc3\xa9",
                                       .kind = "pods",
                                       .name = "\xc3",
                                       .causes = {{.message = "\x80", .field = "a[\xf0]"}}});
  EXPECT_EQ(object.at("message").as_string(), "bad \xef\xbf\xbd\xef\xbf\xbd, good \xc3\xa9");
  const json::object& details = object.at("details").as_object();
  EXPECT_EQ(details.at("name").as_string(), "\xef\xbf\xbd");
  const json::object& cause = details.at("causes").at(0).as_object();
  EXPECT_EQ(cause.at("message").as_string(), "\xef\xbf\xbd");
  EXPECT_EQ(cause.at("field").as_string(), "a[\xef\xbf\xbd]");
}

TEST(ApiStatus, EveryCodeHasAnHttpCodeAndComesBackNearEnough) {
  for (const auto& [code, http] : {std::pair{Code::kInvalid, 422},
                                   {Code::kUnaligned, 422},
                                   {Code::kExhausted, 409},
                                   {Code::kNotFound, 404},
                                   {Code::kConflict, 409},
                                   {Code::kCorrupt, 500},
                                   {Code::kUnsupported, 422},
                                   {Code::kIo, 500}}) {
    const ApiStatus status = status_of(Error{code, "why"});
    EXPECT_EQ(http_code(status), http);
    EXPECT_EQ(error_of(status).message, "why");
    EXPECT_EQ(reason_of(error_of(status).code), status.reason);
  }
}

TEST(ApiStatus, TakesAnUnknownReasonByItsHttpCode) {
  const auto read = [](std::string_view text) { return status_from_json(json::parse(text)); };
  EXPECT_EQ(read(R"({"kind":"Status","status":"Failure","reason":"Odd","code":404})")->reason,
            StatusReason::kNotFound);
  EXPECT_EQ(read(R"({"kind":"Status","status":"Failure","code":418})")->reason,
            StatusReason::kBadRequest);
  EXPECT_EQ(read(R"({"kind":"Status","status":"Failure"})")->reason, StatusReason::kInternal);
}

TEST(ApiStatus, RefusesWhatIsNoFailure) {
  for (const char* text : {R"([])", R"({})", R"({"kind":"Pod"})", R"({"kind":"Status"})",
                           R"({"kind":"Status","status":"Success"})",
                           R"({"kind":"Status","status":"Failure","message":1})"}) {
    EXPECT_FALSE(status_from_json(json::parse(text))) << text;
  }
  EXPECT_FALSE(is_status(json::parse(R"({"kind":"Pod"})")));
  EXPECT_TRUE(is_status(json::parse(R"({"kind":"Status"})")));
}

}  // namespace
}  // namespace corehold
