// SPDX-License-Identifier: Apache-2.0
#include "api/status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/json/json_read.h"
#include "base/utf8.h"

namespace corehold {
namespace {

namespace json = boost::json;

struct Row {
  StatusReason reason;
  int http;
  std::string_view name;
  Code code;  // of ours, for a client
};

constexpr std::array<Row, 18> kTable{{
    {StatusReason::kBadRequest, 400, "BadRequest", Code::kInvalid},
    {StatusReason::kUnauthorized, 401, "Unauthorized", Code::kUnsupported},
    {StatusReason::kForbidden, 403, "Forbidden", Code::kUnsupported},
    {StatusReason::kNotFound, 404, "NotFound", Code::kNotFound},
    {StatusReason::kMethodNotAllowed, 405, "MethodNotAllowed", Code::kUnsupported},
    {StatusReason::kNotAcceptable, 406, "NotAcceptable", Code::kInvalid},
    {StatusReason::kAlreadyExists, 409, "AlreadyExists", Code::kConflict},
    {StatusReason::kConflict, 409, "Conflict", Code::kConflict},
    {StatusReason::kExhausted, 409, "Exhausted", Code::kExhausted},
    {StatusReason::kExpired, 410, "Expired", Code::kNotFound},
    {StatusReason::kTooLarge, 413, "RequestEntityTooLarge", Code::kInvalid},
    {StatusReason::kUnsupportedMedia, 415, "UnsupportedMediaType", Code::kInvalid},
    {StatusReason::kInvalid, 422, "Invalid", Code::kInvalid},
    {StatusReason::kHeaderTooLarge, 431, "RequestHeaderFieldsTooLarge", Code::kInvalid},
    {StatusReason::kInternal, 500, "InternalError", Code::kIo},
    {StatusReason::kUnavailable, 503, "ServiceUnavailable", Code::kIo},
    {StatusReason::kTimeout, 504, "Timeout", Code::kIo},
    {StatusReason::kNone, 500, "", Code::kIo},
}};

const Row& row_of(StatusReason reason) {
  for (const Row& row : kTable) {
    if (row.reason == reason) return row;
  }
  check_failed("every StatusReason has a row", __FILE__, __LINE__);
}

StatusReason reason_from(std::string_view name, std::int64_t http) {
  if (name.empty() && http != http_code(StatusReason::kNone)) name = "?";
  const auto by_name =
      std::find_if(kTable.begin(), kTable.end(), [&](const Row& row) { return row.name == name; });
  if (by_name != kTable.end()) return by_name->reason;
  const auto by_code =
      std::find_if(kTable.begin(), kTable.end(), [&](const Row& row) { return row.http == http; });
  if (by_code != kTable.end()) return by_code->reason;
  return http >= 400 && http < 500 ? StatusReason::kBadRequest : StatusReason::kInternal;
}

// Messages quote what clients send; what is not UTF-8 in it is shown as Go shows it, for JSON
// cannot carry it.
std::string as_utf8(const std::string& text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = rune_length(text, at);
    if (length == 0) valid += "\xef\xbf\xbd";
    valid.append(text, at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return valid;
}

json::array causes_json(const std::vector<StatusCause>& causes) {
  json::array list;
  for (const StatusCause& cause : causes) {
    json::object one;
    if (!cause.reason.empty()) one["reason"] = cause.reason;
    if (!cause.message.empty()) one["message"] = as_utf8(cause.message);
    if (!cause.field.empty()) one["field"] = as_utf8(cause.field);
    list.push_back(std::move(one));
  }
  return list;
}

Result<std::vector<StatusCause>> causes_from(const json::object& details, const Path& path) {
  std::vector<StatusCause> causes;
  const json::array* list = TRY(array_field(details, path, "causes"));
  if (list == nullptr) return causes;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Path at = path / "causes" / i;
    const json::object* one = TRY(as_object((*list)[i], at));
    causes.push_back({.reason = TRY(string_field(*one, at, "reason")),
                      .message = TRY(string_field(*one, at, "message")),
                      .field = TRY(string_field(*one, at, "field"))});
  }
  return causes;
}

}  // namespace

std::string_view name_of(StatusReason reason) { return row_of(reason).name; }
int http_code(StatusReason reason) { return row_of(reason).http; }

StatusReason reason_of(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kUnaligned:
    case Code::kUnsupported:
      return StatusReason::kInvalid;
    case Code::kExhausted:
      return StatusReason::kExhausted;
    case Code::kNotFound:
      return StatusReason::kNotFound;
    case Code::kConflict:
      return StatusReason::kConflict;
    case Code::kCorrupt:
    case Code::kIo:
      return StatusReason::kInternal;
  }
  check_failed("every Code has a reason", __FILE__, __LINE__);
}

ApiStatus forbidden(std::string_view kind, std::string_view name, std::string_view why) {
  return {.reason = StatusReason::kForbidden,
          .message = fmt::format("{} \"{}\" is forbidden: {}", kind, name, why),
          .kind = std::string(kind),
          .name = std::string(name)};
}

ApiStatus status_of(const Error& error) {
  return {.reason = reason_of(error.code), .message = error.message};
}

Error error_of(const ApiStatus& status) { return {row_of(status.reason).code, status.message}; }

json::object to_json(const ApiStatus& status) {
  json::object metadata;
  if (!status.continue_token.empty()) metadata["continue"] = status.continue_token;
  json::object object{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", std::move(metadata)},
                      {"status", "Failure"},
                      {"message", as_utf8(status.message)}};
  if (status.reason != StatusReason::kNone) object["reason"] = name_of(status.reason);
  json::object details;
  if (!status.name.empty()) details["name"] = as_utf8(status.name);
  if (!status.group.empty()) details["group"] = status.group;
  if (!status.kind.empty()) details["kind"] = status.kind;
  if (!status.causes.empty()) details["causes"] = causes_json(status.causes);
  if (status.retry_after > 0) details["retryAfterSeconds"] = status.retry_after;
  if (status.has_details || !details.empty()) object["details"] = std::move(details);
  object["code"] = http_code(status);
  return object;
}

bool is_status(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* kind = object == nullptr ? nullptr : field(*object, "kind");
  return kind != nullptr && kind->is_string() && kind->get_string() == "Status";
}

Result<ApiStatus> status_from_json(const json::value& value) {
  const Path path;
  const json::object* object = TRY(as_object(value, path));
  TRY(expect_kind(*object, "Status"));
  const std::string outcome = TRY(string_field(*object, path, "status"));
  if (outcome != "Failure") return (path / "status").error("must be Failure");
  ApiStatus status;
  status.message = TRY(string_field(*object, path, "message"));
  status.reason = reason_from(TRY(string_field(*object, path, "reason")),
                              TRY(integer_field(*object, path, "code", 0)));
  if (const json::object* metadata = TRY(object_field(*object, path, "metadata"))) {
    status.continue_token = TRY(string_field(*metadata, path / "metadata", "continue"));
  }
  if (const json::object* details = TRY(object_field(*object, path, "details"))) {
    status.name = TRY(string_field(*details, path / "details", "name"));
    status.kind = TRY(string_field(*details, path / "details", "kind"));
    status.group = TRY(string_field(*details, path / "details", "group"));
    status.causes = TRY(causes_from(*details, path / "details"));
    status.has_details = details->empty();
    status.retry_after =
        static_cast<int>(TRY(integer_field(*details, path / "details", "retryAfterSeconds", 0)));
  }
  return status;
}

}  // namespace corehold
