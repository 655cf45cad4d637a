// SPDX-License-Identifier: Apache-2.0
#include "agent/api/write_request.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/serve/media_type.h"
#include "api/serve/object_version.h"
#include "pod/yaml_document.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Reading a million bytes of YAML takes half a second, in which nobody else is served, and up to
// 240 MB. JSON is read at once.
constexpr std::size_t kMaxYamlBody = std::size_t{64} << 10U;

std::string_view options_kind(std::string_view method) {
  if (method == "POST") return "CreateOptions";
  if (method == "PUT") return "UpdateOptions";
  return method == "PATCH" ? "PatchOptions" : "DeleteOptions";
}

ApiResult<bool> is_dry_run(const HttpTarget& target, std::string_view kind) {
  const std::string asked = target.parameter("dryRun");
  if (asked.empty()) return false;
  if (asked == "All") return true;
  const std::string text =
      fmt::format("Unsupported value: \"{}\": supported values: \"All\"", asked);
  return ApiStatus{
      .reason = StatusReason::kInvalid,
      .message = fmt::format("{}.meta.k8s.io \"\" is invalid: dryRun: {}", kind, text),
      .kind = std::string(kind),
      .group = "meta.k8s.io",
      .causes = {{.reason = "FieldValueNotSupported", .message = text, .field = "dryRun"}}};
}

bool looks_like_json(std::string_view text) {
  const auto* const first = std::find_if_not(text.begin(), text.end(),
                                             [](unsigned char c) { return std::isspace(c) != 0; });
  return first != text.end() && *first == '{';
}

// The same as JSON.
ApiResult<std::string> from_yaml(std::string_view text) {
  const auto bad = [](const std::string& why) {
    return ApiStatus{.reason = StatusReason::kBadRequest,
                     .message = fmt::format("error decoding YAML: {}", why)};
  };
  if (text.size() > kMaxYamlBody) {
    return ApiStatus{
        .reason = StatusReason::kTooLarge,
        .message = fmt::format("Request entity too large: a body in YAML may have {} bytes, this "
                               "one has {}; send JSON",
                               kMaxYamlBody, text.size())};
  }
  auto documents = parse_yaml(text);
  if (!documents) return bad(documents.error().message);
  if (documents->size() != 1) {
    return bad(fmt::format("one document is wanted, there are {}", documents->size()));
  }
  return json::serialize(documents->front());
}

// A Warning header has quotes around its text.
std::string warning_text(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return fmt::format("299 - \"{}\"", quoted);
}

}  // namespace

ApiResult<WriteRequest> WriteRequest::read(const HttpExchangePtr& exchange,
                                           const HttpTarget& target, const ResourcePath& path) {
  const HttpRequest& http = exchange->request();
  const std::string_view kind = options_kind(http.method);
  WriteRequest request{.exchange = exchange, .path = path};
  request.how = TRY(presentation_of(http, target, path.resource, AnswerShape::kOne));
  request.is_try = TRY(is_dry_run(target, kind));
  request.validation = TRY(field_validation(target.parameter("fieldValidation"), kind));
  request.field_manager = target.parameter("fieldManager");
  request.writer = {.manager = manager_name(request.field_manager, http.user_agent),
                    .subresource = path.subresource,
                    .now = wall_now()};
  if (!target.parameter("force").empty()) {
    const auto force = target.flag("force");
    if (!force) {
      return ApiStatus{.reason = StatusReason::kBadRequest, .message = force.error().message};
    }
    request.force = *force;
  }
  return request;
}

ApiResult<json::object> read_body(WriteRequest& request) {
  const HttpRequest& http = request.exchange->request();
  const auto format = object_body_format(http.content_type);
  if (!format) {
    return ApiStatus{.reason = StatusReason::kUnsupportedMedia, .message = format.error().message};
  }
  const std::string_view kind = info_of(request.path.resource).kind;
  if (*format == BodyFormat::kJson) {
    return read_object(kind, http.body, request.validation, request.warnings);
  }
  const std::string text = TRY(from_yaml(http.body));
  return read_object(kind, text, request.validation, request.warnings);
}

ApiResult<Wanted> wanted(WriteRequest& request, const json::object& current) {
  const HttpRequest& http = request.exchange->request();
  Wanted wanted;
  if (http.method == "PUT") {
    wanted.object = TRY(read_body(request));
    wanted.verb = WriteVerb::kPut;
    return wanted;
  }
  const auto kind = patch_kind(http.content_type);
  if (!kind) {
    return ApiStatus{.reason = StatusReason::kUnsupportedMedia,
                     .message = std::string(kUnsupportedPatchText),
                     .has_details = true};
  }
  std::string body;
  std::string_view text = http.body;
  if (*kind == PatchKind::kApply && !looks_like_json(text)) {
    body = TRY(from_yaml(text));
    text = body;
  }
  const std::string_view object_kind = info_of(request.path.resource).kind;
  const PatchRequest patch{.kind = *kind,
                           .body = text,
                           .field_manager = request.field_manager,
                           .force = request.force,
                           .subresource = request.path.subresource,
                           .now = request.writer.now};
  const json::object made = TRY(apply_patch(object_kind, current, patch));
  wanted.object = TRY(read_patched(object_kind, made, patch, request.validation, request.warnings));
  wanted.is_apply = *kind == PatchKind::kApply;
  return wanted;
}

void answer_object(const WriteRequest& request, int status, const ObjectVersion& object) {
  HttpResponse response{.status = status,
                        .content_type = request.how.content_type,
                        .body = object_text(object, request.how.view, wall_now())};
  for (const std::string& warning : request.warnings) {
    response.headers.emplace_back("Warning", warning_text(warning));
  }
  request.exchange->answer(std::move(response));
}

}  // namespace corehold
