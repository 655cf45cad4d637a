// SPDX-License-Identifier: Apache-2.0
#include "api/patch/strict_fields.h"

#include <algorithm>
#include <array>
#include <set>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/field_errors.h"
#include "api/object/typed_reader.h"
#include "api/patch/patch_body.h"
#include "base/check.h"
#include "gotext/go_json_syntax.h"
#include "gotext/go_json_writer.h"
#include "gotext/go_text.h"
#include "pod/exact_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kVersion = "v1";
constexpr std::size_t kMostDuplicates = 100;

// Kinds that are something else than what was asked for, rather than nothing at all.
constexpr auto kKnownKinds = std::to_array<std::string_view>(
    {"Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node",
     "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController",
     "ResourceQuota", "Secret", "Service", "ServiceAccount"});

ApiStatus bad_request(std::string message) {
  return {.reason = StatusReason::kBadRequest, .message = std::move(message)};
}

// The parser of Boost.JSON calls these; they find the keys that come twice in one object.
class DuplicateHandler {
 public:
  // NOLINTBEGIN(readability-identifier-naming): Boost's names
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  // NOLINTEND(readability-identifier-naming)

  std::vector<std::string> found{};

  bool on_document_begin(json::error_code& /*unused*/) { return true; }
  bool on_document_end(json::error_code& /*unused*/) { return true; }
  bool on_object_begin(json::error_code& /*unused*/) { return open(true); }
  bool on_object_end(std::size_t /*unused*/, json::error_code& /*unused*/) { return close(); }
  bool on_array_begin(json::error_code& /*unused*/) { return open(false); }
  bool on_array_end(std::size_t /*unused*/, json::error_code& /*unused*/) { return close(); }
  bool on_key_part(json::string_view part, std::size_t /*unused*/, json::error_code& /*unused*/) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t /*unused*/, json::error_code& /*unused*/) {
    key_.append(part.data(), part.size());
    Level& level = levels_.back();
    level.key = std::exchange(key_, {});
    if (!level.keys.insert(level.key).second && found.size() < kMostDuplicates) {
      found.push_back(path());
    }
    return true;
  }
  bool on_string_part(json::string_view /*unused*/, std::size_t /*unused*/,
                      json::error_code& /*unused*/) {
    return true;
  }
  bool on_string(json::string_view /*unused*/, std::size_t /*unused*/,
                 json::error_code& /*unused*/) {
    return value();
  }
  bool on_number_part(json::string_view /*unused*/, json::error_code& /*unused*/) { return true; }
  bool on_int64(std::int64_t /*unused*/, json::string_view /*unused*/,
                json::error_code& /*unused*/) {
    return value();
  }
  bool on_uint64(std::uint64_t /*unused*/, json::string_view /*unused*/,
                 json::error_code& /*unused*/) {
    return value();
  }
  bool on_double(double /*unused*/, json::string_view /*unused*/, json::error_code& /*unused*/) {
    return value();
  }
  bool on_bool(bool /*unused*/, json::error_code& /*unused*/) { return value(); }
  bool on_null(json::error_code& /*unused*/) { return value(); }
  bool on_comment_part(json::string_view /*unused*/, json::error_code& /*unused*/) { return true; }
  bool on_comment(json::string_view /*unused*/, json::error_code& /*unused*/) { return true; }

 private:
  struct Level {
    bool is_object = false;
    std::size_t index = 0;  // of the element that is being read
    std::string key{};
    std::set<std::string, std::less<>> keys{};
  };

  bool open(bool is_object) {
    levels_.push_back({.is_object = is_object});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }
  bool value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (!level.is_object) {
        text += fmt::format("[{}]", level.index);
      } else {
        text += fmt::format("{}{}", text.empty() ? "" : ".", level.key);
      }
    }
    return text;
  }

  std::vector<Level> levels_{};
  std::string key_{};
};

// REQUIRES: `text` is JSON of no more than kMaxPatchDepth levels.
std::vector<std::string> duplicate_fields(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxPatchDepth;
  json::basic_parser<DuplicateHandler> parser(options);
  json::error_code failed;
  parser.write_some(false, text.data(), text.size(), failed);
  return failed ? std::vector<std::string>() : std::move(parser.handler().found);
}

// The beginning of a body, for a message: as text where it looks like JSON.
std::string summary(std::string_view body) {
  constexpr std::size_t kShown = 30;
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShown);
  const std::string_view more = body.size() > kShown ? " ..." : "";
  if (body.front() == '{') return fmt::format("{}{}", shown, more);
  std::string hex;
  for (const char c : shown) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return fmt::format("{}{}", hex, more);
}

ApiStatus unrecognized(std::string_view kind, std::string_view body, std::string_view problem) {
  return bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): couldn't get "
                  "version/kind; json parse error: {} ({})",
                  kind, problem, summary(body)));
}

ApiResult<json::object> parse_body(std::string_view kind, std::string_view body) {
  if (body.size() > kMaxPatchBytes) {
    return patch_too_large(fmt::format("limit is {}", kMaxPatchBytes));
  }
  json::error_code failed;
  json::value value = parse_exact_json(body, kMaxPatchDepth, failed);
  if (failed == json::error::too_deep) return unrecognized(kind, body, "exceeded max depth");
  if (failed) {
    const std::string problem = go_json_problem(body);
    return unrecognized(kind, body, problem.empty() ? failed.message() : problem);
  }
  if (json::object* object = value.if_object()) return std::move(*object);
  if (value.is_null()) return json::object();
  return unrecognized(
      kind, body,
      fmt::format(R"(json: cannot unmarshal {} into Go value of type struct {{ APIVersion string )"
                  R"("json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }})",
                  go_json_type(value)));
}

// Checks kind and apiVersion, and fills them in where they are not given.
ApiResult<json::object> with_kind(std::string_view kind, std::string_view body,
                                  json::object object) {
  for (const std::string_view field : {"apiVersion", "kind"}) {
    const json::value* value = object.if_contains(field);
    if (value == nullptr || value->is_null() || value->is_string()) continue;
    return unrecognized(
        kind, body,
        fmt::format("json: cannot unmarshal {} into Go struct field .{} of type string",
                    go_json_type(*value), field));
  }
  const auto given = [&](std::string_view field, std::string_view otherwise) {
    const json::value* value = object.if_contains(field);
    const bool is_there = value != nullptr && value->is_string() && !value->get_string().empty();
    return std::string(is_there ? std::string_view(value->get_string()) : otherwise);
  };
  const std::string its_kind = given("kind", kind);
  const std::string its_version = given("apiVersion", kVersion);
  if (its_kind != kind || its_version != kVersion) {
    const bool is_known =
        its_version == kVersion &&
        std::find(kKnownKinds.begin(), kKnownKinds.end(), its_kind) != kKnownKinds.end();
    const std::string problem =
        is_known
            ? fmt::format("converting (v1.{}) to (core.{}): unknown conversion", its_kind, kind)
            : fmt::format(
                  "no kind {} is registered for version {} in scheme "
                  "\"pkg/api/legacyscheme/scheme.go:30\"",
                  go_quoted(its_kind), go_quoted(its_version));
    return bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}", its_kind,
                                   go_quoted(its_version), kind, problem));
  }
  object["kind"] = kind;
  object["apiVersion"] = kVersion;
  return object;
}

bool is_below_any(std::string_view path, const std::vector<std::string>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const std::string& other) { return path.starts_with(other); });
}

// What is wrong with fields that the object does not keep.
std::vector<std::string> strict_problems(const TypedObject& read,
                                         const std::vector<std::string>& duplicates) {
  std::vector<std::string> problems;
  for (const std::string& path : read.unknown)
    problems.push_back(fmt::format("unknown field {}", go_quoted(path)));
  for (const std::string& path : duplicates) {
    if (is_below_any(path, read.unknown)) continue;
    std::string problem = fmt::format("duplicate field {}", go_quoted(path));
    if (std::find(problems.begin(), problems.end(), problem) == problems.end())
      problems.push_back(std::move(problem));
  }
  return problems;
}

// The problem that ends the request, if any.
std::string settle(const TypedObject& read, std::vector<std::string> problems,
                   FieldValidation validation, std::vector<std::string>& warnings) {
  if (!read.failure.empty()) return read.failure;
  if (problems.empty() || validation == FieldValidation::kIgnore) return "";
  if (validation == FieldValidation::kStrict)
    return fmt::format("strict decoding error: {}", fmt::join(problems, ", "));
  std::move(problems.begin(), problems.end(), std::back_inserter(warnings));
  return "";
}

ApiStatus too_many_values() {
  return patch_too_large(fmt::format("an object may consist of {} values", kMaxObjectValues));
}

std::string shortened(std::string text) {
  if (text.size() <= kMaxShownText) return text;
  std::size_t end = kMaxShownText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

// What a merge patch has gone into comes out sorted, the rest as it was.
json::value sorted_where_patched(const json::value& patched, const json::value& patch) {
  if (!patched.is_object() || !patch.is_object()) return patched;
  std::vector<const json::key_value_pair*> members;
  members.reserve(patched.get_object().size());
  for (const auto& member : patched.get_object()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* left, const auto* right) { return left->key() < right->key(); });
  json::object sorted;
  for (const json::key_value_pair* member : members) {
    const json::value* below = patch.get_object().if_contains(member->key());
    sorted[member->key()] =
        below == nullptr ? member->value() : sorted_where_patched(member->value(), *below);
  }
  return sorted;
}

std::string patch_text(const json::object& patched, const PatchRequest& request) {
  const ApiResult<json::value> body = parse_patch_body(request.body);
  if (body && request.kind == PatchKind::kStrategic) return go_text(*body);
  if (body && request.kind == PatchKind::kMerge) {
    return shortened(json::serialize(sorted_where_patched(patched, *body)));
  }
  return shortened(json::serialize(patched));
}

}  // namespace

ApiResult<FieldValidation> field_validation(std::string_view value, std::string_view options) {
  if (value.empty() || value == "Warn") return FieldValidation::kWarn;
  if (value == "Ignore") return FieldValidation::kIgnore;
  if (value == "Strict") return FieldValidation::kStrict;
  FieldErrors errors;
  errors.not_supported(ErrorPath("fieldValidation"), value, {"", "Ignore", "Strict", "Warn"});
  ApiStatus status = errors.status(fmt::format("{}.meta.k8s.io", options), "");
  status.kind = options;
  status.group = "meta.k8s.io";
  return status;
}

ApiResult<json::object> read_object(std::string_view kind, std::string_view body,
                                    FieldValidation validation,
                                    std::vector<std::string>& warnings) {
  const StructType* type = core_type(kind);
  CHECK(type != nullptr);
  json::object object = TRY(with_kind(kind, body, TRY(parse_body(kind, body))));
  TypedObject read = read_typed(*type, object);
  if (read.is_too_large) return too_many_values();
  std::vector<std::string> problems;
  if (validation != FieldValidation::kIgnore)
    problems = strict_problems(read, duplicate_fields(body));
  const std::string problem = settle(read, std::move(problems), validation, warnings);
  if (problem.empty()) return std::move(read.object);
  return bad_request(fmt::format("{0} in version {1} cannot be handled as a {0}: {2}", kind,
                                 go_quoted(kVersion), problem));
}

ApiResult<json::object> read_patched(std::string_view kind, const json::object& patched,
                                     const PatchRequest& request, FieldValidation validation,
                                     std::vector<std::string>& warnings) {
  const StructType* type = core_type(kind);
  CHECK(type != nullptr);
  TypedObject read = read_typed(*type, patched);
  if (read.is_too_large) return too_many_values();
  const std::string problem = settle(read, strict_problems(read, {}), validation, warnings);
  if (!problem.empty()) {
    FieldErrors errors;
    errors.invalid(ErrorPath("patch"), patch_text(patched, request), problem);
    return errors.status("", "");
  }
  read.object["kind"] = kind;
  read.object["apiVersion"] = kVersion;
  return std::move(read.object);
}

}  // namespace corehold
