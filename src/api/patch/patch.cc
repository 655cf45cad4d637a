// SPDX-License-Identifier: Apache-2.0
#include "api/patch/patch.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/patch_body.h"
#include "api/patch/server_side_apply.h"
#include "api/patch/strategic_patch.h"
#include "gotext/go_json_writer.h"
#include "gotext/go_text.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

namespace json = boost::json;

struct PatchType {
  std::string_view name;
  PatchKind kind;
};

constexpr std::array<PatchType, 4> kPatchTypes{{
    {"application/json-patch+json", PatchKind::kJson},
    {"application/merge-patch+json", PatchKind::kMerge},
    {"application/strategic-merge-patch+json", PatchKind::kStrategic},
    {"application/apply-patch+yaml", PatchKind::kApply},
}};

constexpr std::size_t kMaxManagerName = 128;

std::optional<StatusCause> mistake_in_manager(const PatchRequest& request) {
  const std::string_view manager = request.field_manager;
  const bool is_printable =
      std::all_of(manager.begin(), manager.end(), [](char c) { return c >= ' ' && c != '\x7f'; });
  if (manager.empty() && request.kind == PatchKind::kApply) {
    return StatusCause{.reason = "FieldValueRequired",
                       .message = "Required value: is required for apply patch",
                       .field = "fieldManager"};
  }
  if (manager.size() > kMaxManagerName) {
    return StatusCause{
        .reason = "FieldValueTooLong",
        .message = fmt::format("Too long: may not be more than {} bytes", kMaxManagerName),
        .field = "fieldManager"};
  }
  if (!is_printable) {
    return StatusCause{.reason = "FieldValueInvalid",
                       .message = fmt::format("Invalid value: {}: should only contain printable "
                                              "characters",
                                              go_quoted(manager)),
                       .field = "fieldManager"};
  }
  return std::nullopt;
}

ApiResult<bool> check_options(const PatchRequest& request) {
  std::vector<StatusCause> causes;
  if (request.kind != PatchKind::kApply && request.force.has_value()) {
    causes.push_back({.reason = "FieldValueForbidden",
                      .message = "Forbidden: may not be specified for non-apply patch",
                      .field = "force"});
  }
  if (auto cause = mistake_in_manager(request)) causes.push_back(*std::move(cause));
  if (causes.empty()) return true;
  std::string list;
  for (const StatusCause& cause : causes) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", cause.field, cause.message);
  }
  if (causes.size() > 1) list = fmt::format("[{}]", list);
  return ApiStatus{.reason = StatusReason::kInvalid,
                   .message = "PatchOptions.meta.k8s.io \"\" is invalid: " + list,
                   .kind = "PatchOptions",
                   .group = "meta.k8s.io",
                   .causes = std::move(causes)};
}

// An applied object is YAML, which JSON is too. What looks like JSON is read as such: the
// reader for YAML is slow.
ApiResult<json::value> parse_applied(std::string_view body) {
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && body[start] == '{') return parse_patch_body(body);
  if (body.size() > kMaxPatchBytes) {
    return patch_too_large(fmt::format("limit is {}", kMaxPatchBytes));
  }
  auto documents = parse_yaml(body);
  if (!documents) return bad_patch("error decoding YAML: " + documents.error().message);
  if (documents->size() != 1) return bad_patch("error decoding YAML: expected one document");
  if (depth_of(documents->front()) > kMaxPatchDepth) {
    return bad_patch(fmt::format("error decoding YAML: exceeded max depth of {}", kMaxPatchDepth));
  }
  return std::move(documents->front());
}

}  // namespace

std::optional<PatchKind> patch_kind(std::string_view content_type) {
  std::string_view name = content_type.substr(0, content_type.find(';'));
  while (name.ends_with(' ')) name.remove_suffix(1);
  const auto found = std::find_if(kPatchTypes.begin(), kPatchTypes.end(),
                                  [&](const PatchType& type) { return type.name == name; });
  return found == kPatchTypes.end() ? std::nullopt : std::optional(found->kind);
}

ApiResult<json::object> apply_patch(std::string_view object_kind, const json::object& current,
                                    const PatchRequest& request) {
  TRY(check_options(request));
  if (request.kind == PatchKind::kApply) {
    const json::value config = TRY(parse_applied(request.body));
    const FieldWriter writer{.manager = std::string(request.field_manager),
                             .subresource = std::string(request.subresource),
                             .now = request.now};
    return server_side_apply(
        object_kind, current, config, writer,
        request.force.value_or(false) ? OnConflict::kForce : OnConflict::kFail);
  }
  json::value body = TRY(parse_patch_body(request.body));
  switch (request.kind) {
    case PatchKind::kJson:
      return apply_json_patch(current, body);
    case PatchKind::kMerge:
      return apply_merge_patch(current, std::move(body));
    default:
      return apply_strategic_patch(object_kind, current, std::move(body));
  }
}

}  // namespace corehold
