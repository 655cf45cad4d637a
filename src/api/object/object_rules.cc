// SPDX-License-Identifier: Apache-2.0
#include "api/object/object_rules.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_edit.h"
#include "api/json/json_look.h"
#include "api/object/label_rules.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxAnnotations = std::size_t{256} * 1024;

bool is_dns_word(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string in_lower_case(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

void check_annotations(const json::object& metadata, FieldErrors& errors) {
  const ErrorPath path = ErrorPath("metadata") / "annotations";
  const json::object* annotations = look_object(metadata, {"annotations"});
  if (annotations == nullptr) return;
  std::size_t size = 0;
  for (const auto& [key, value] : *annotations) {
    errors.add_all(path, key, label_key_problems(in_lower_case(key)));
    size += key.size() + (value.is_string() ? value.get_string().size() : 0);
  }
  if (size > kMaxAnnotations) errors.too_long(path, kMaxAnnotations);
}

void check_owners(const json::object& metadata, FieldErrors& errors) {
  const json::array& owners = look_array(metadata, {"ownerReferences"});
  bool has_controller = false;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const json::object& owner = as_object_or_empty(owners[i]);
    const ErrorPath path = ErrorPath("metadata") / "ownerReferences" / i;
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (!look_text(owner, {field}).empty()) continue;
      errors.invalid(path / field, "",
                     field == "apiVersion" ? "version must not be empty" : "must not be empty");
    }
    if (!look_true(owner, {"controller"})) continue;
    if (has_controller) {
      errors.invalid(ErrorPath("metadata") / "ownerReferences", look_text(owner, {"name"}),
                     "Only one reference can have Controller set to true");
    }
    has_controller = true;
  }
}

void check_finalizers(const json::object& metadata, FieldErrors& errors) {
  const ErrorPath path = ErrorPath("metadata") / "finalizers";
  for (const json::value& finalizer : look_array(metadata, {"finalizers"})) {
    const std::string_view name = finalizer.get_string();
    const std::vector<std::string> problems = label_key_problems(name);
    errors.add_all(path, name, problems);
    const bool is_standard =
        name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (problems.empty() && name.find('/') == std::string_view::npos && !is_standard) {
      errors.invalid(path, name,
                     "name is neither a standard finalizer name nor is it fully qualified");
    }
  }
}

void copy_if_empty(const json::object& old, json::object& metadata, std::string_view field) {
  if (look_text(metadata, {field}).empty()) copy_field(old, metadata, field);
}

ApiStatus conflict(const json::object& old, std::string_view resource, std::string_view why) {
  const std::string_view name = look_text(old, {"metadata", "name"});
  return {.reason = StatusReason::kConflict,
          .message = fmt::format("Operation cannot be fulfilled on {} {}: {}", resource,
                                 go_quoted(name), why),
          .kind = std::string(resource),
          .name = std::string(name)};
}

}  // namespace

std::vector<std::string> dns_label_problems(std::string_view text) {
  std::vector<std::string> problems;
  if (text.size() > kMaxLabel)
    problems.push_back(fmt::format("must be no more than {} characters", kMaxLabel));
  if (!is_dns_word(text)) {
    problems.emplace_back(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  }
  return problems;
}

std::vector<std::string> dns_subdomain_problems(std::string_view text) {
  std::vector<std::string> problems;
  if (text.size() > kMaxSubdomain)
    problems.push_back(fmt::format("must be no more than {} characters", kMaxSubdomain));
  bool is_right = true;
  for (std::string_view rest = text; is_right;) {
    const std::size_t dot = rest.find('.');
    is_right = is_dns_word(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (!is_right) {
    problems.emplace_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'"
        ")");
  }
  return problems;
}

void check_labels(const json::object& labels, const ErrorPath& path, FieldErrors& errors) {
  for (const auto& [key, value] : labels) {
    errors.add_all(path, key, label_key_problems(key));
    if (const json::string* text = value.if_string())
      errors.add_all(path, *text, label_value_problems(*text));
  }
}

void check_metadata(const json::object& metadata, FieldErrors& errors) {
  const ErrorPath path("metadata");
  const std::string_view prefix = look_text(metadata, {"generateName"});
  if (!prefix.empty()) {
    // A dash at its end is in the middle of the name.
    std::string name(prefix);
    if (name.size() > 1 && name.ends_with('-')) name.back() = 'a';
    errors.add_all(path / "generateName", prefix, dns_subdomain_problems(name));
  }
  const std::string_view name = look_text(metadata, {"name"});
  if (name.empty()) {
    errors.required(path / "name", "name or generateName is required");
  } else {
    errors.add_all(path / "name", name, dns_subdomain_problems(name));
  }
  if (const json::object* labels = look_object(metadata, {"labels"}))
    check_labels(*labels, path / "labels", errors);
  check_annotations(metadata, errors);
  check_owners(metadata, errors);
  check_finalizers(metadata, errors);
}

void carry_metadata(const json::object& old, json::object& metadata, FieldErrors& errors) {
  const ErrorPath path("metadata");
  copy_if_empty(old, metadata, "uid");
  copy_if_empty(old, metadata, "resourceVersion");
  copy_field(old, metadata, "selfLink");
  copy_field(old, metadata, "creationTimestamp");
  copy_field(old, metadata, "generation");
  copy_field(old, metadata, "deletionTimestamp");
  const json::value* grace = metadata.if_contains("deletionGracePeriodSeconds");
  const json::value* old_grace = old.if_contains("deletionGracePeriodSeconds");
  if (grace != nullptr && (old_grace == nullptr || *grace != *old_grace)) {
    errors.invalid(path / "deletionGracePeriodSeconds",
                   look_number(metadata, {"deletionGracePeriodSeconds"}),
                   "field is immutable; may only be changed via deletion");
  }
  copy_field(old, metadata, "deletionGracePeriodSeconds");
  const std::string_view uid = look_text(metadata, {"uid"});
  if (uid != look_text(old, {"uid"})) errors.invalid(path / "uid", uid, "field is immutable");
}

std::optional<ApiStatus> refuse_other_object(const json::object& old, const json::object& next,
                                             WriteVerb verb, std::string_view resource) {
  const std::string_view name = look_text(next, {"metadata", "name"});
  const std::string_view old_name = look_text(old, {"metadata", "name"});
  if (name.empty() && verb == WriteVerb::kPut) {
    return ApiStatus{.reason = StatusReason::kBadRequest,
                     .message = "name is required: resource name may not be empty"};
  }
  if (name != old_name) {
    return ApiStatus{
        .reason = StatusReason::kBadRequest,
        .message = fmt::format(
            "the name of the object ({}) does not match the name on the URL ({})", name, old_name)};
  }
  const std::string_view its_namespace = look_text(next, {"metadata", "namespace"});
  if (!its_namespace.empty() && its_namespace != look_text(old, {"metadata", "namespace"})) {
    return ApiStatus{.reason = StatusReason::kBadRequest,
                     .message =
                         "the namespace of the provided object does not match the namespace "
                         "sent on the request"};
  }
  const std::string_view uid = look_text(next, {"metadata", "uid"});
  const std::string_view old_uid = look_text(old, {"metadata", "uid"});
  if (verb == WriteVerb::kPut && !uid.empty() && uid != old_uid) {
    return conflict(old, resource,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: "
                                "{}",
                                uid, old_uid));
  }
  const std::string_view version = look_text(next, {"metadata", "resourceVersion"});
  if (!version.empty() && version != look_text(old, {"metadata", "resourceVersion"})) {
    return conflict(old, resource,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  }
  return std::nullopt;
}

}  // namespace corehold
