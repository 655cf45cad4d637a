// SPDX-License-Identifier: Apache-2.0
#include "api/serve/object_version.h"

#include <algorithm>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/json/json_look.h"
#include "base/check.h"
#include "pod/exact_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Deeper than what a client can send, and than what is built around it.
constexpr std::size_t kDeepest = 1024;
constexpr std::string_view kVersionKey = R"("resourceVersion":")";

void set_version(json::object& object, std::uint64_t version) {
  json::value& metadata = object["metadata"];
  if (!metadata.is_object()) metadata.emplace_object();
  metadata.get_object()["resourceVersion"] = fmt::to_string(version);
}

std::string head_of(std::string_view kind) {
  return fmt::format(R"({{"kind":"{}","apiVersion":"v1",)", kind);
}

}  // namespace

ObjectVersion::ObjectVersion(Resource resource, json::object object, std::uint64_t version)
    : resource_(resource), version_(version) {
  erase_members(object, {"kind", "apiVersion"});
  set_version(object, version);
  namespace_ = look_text(object, {"metadata", "namespace"});
  name_ = look_text(object, {"metadata", "name"});
  selectable_ = selectable_of(resource, object);
  item_ = json::serialize(object);
}

std::string ObjectVersion::text() const {
  return head_of(info_of(resource_).kind).append(item_, 1);
}

json::object ObjectVersion::parsed() const {
  json::error_code failed;
  json::value value = parse_exact_json(text(), kDeepest, failed);
  CHECK(!failed && value.is_object());
  return std::move(value.get_object());
}

bool ObjectVersion::is_same_but_version(const ObjectVersion& other) const {
  const auto [mine, theirs] =
      std::mismatch(item_.begin(), item_.end(), other.item_.begin(), other.item_.end());
  if (mine == item_.end() && theirs == other.item_.end()) return true;
  // Versions that differ are a difference: without another, it is the first and the only one.
  const auto first = static_cast<std::size_t>(mine - item_.begin());
  const std::size_t key = item_.rfind(kVersionKey, first);
  if (key == std::string::npos || key + kVersionKey.size() > first) return false;
  const std::size_t at = key + kVersionKey.size();
  std::string_view rest = std::string_view(item_).substr(at);
  std::string_view other_rest = std::string_view(other.item_).substr(at);
  const std::string version = fmt::format("{}\"", version_);
  const std::string other_version = fmt::format("{}\"", other.version_);
  if (!rest.starts_with(version) || !other_rest.starts_with(other_version)) return false;
  rest.remove_prefix(version.size());
  other_rest.remove_prefix(other_version.size());
  return rest == other_rest;
}

Result<ObjectView> view_of(const AcceptedForm& accepted, IncludeObject include, Resource resource,
                           AnswerShape shape) {
  const bool list = shape == AnswerShape::kList;
  const auto refused = [&](std::string_view asked, std::string_view is) {
    return Error{Code::kInvalid,
                 fmt::format("you requested {}, but the requested object is {} (*core.{}{})", asked,
                             is, info_of(resource).kind, list ? "List" : "")};
  };
  if (accepted.form == AnswerForm::kPartialMetadata && list) {
    return refused("PartialObjectMetadata", "a list");
  }
  if (accepted.form == AnswerForm::kPartialMetadataList && !list) {
    return refused("PartialObjectMetadataList", "not a list");
  }
  return ObjectView{accepted.form, accepted.version, include};
}

std::string object_text(const ObjectVersion& object, const ObjectView& view,
                        std::chrono::milliseconds now, TableHead head) {
  switch (view.form) {
    case AnswerForm::kPartialMetadata:
    case AnswerForm::kPartialMetadataList:
      return json::serialize(partial_metadata_json(object.parsed(), view.version));
    case AnswerForm::kTable: {
      const json::object parsed = object.parsed();
      return json::serialize(
          table_json(object.resource(), {&parsed, 1}, {.version = object.version()},
                     {.version = view.version, .include = view.include, .head = head, .now = now}));
    }
    case AnswerForm::kObject:
    case AnswerForm::kAggregatedDiscovery:
      return object.text();
  }
  check_failed("every AnswerForm is known", __FILE__, __LINE__);
}

std::string list_text(Resource resource, std::span<const ObjectPtr> objects,
                      const ListMetadata& metadata, const ObjectView& view,
                      std::chrono::milliseconds now) {
  if (view.form == AnswerForm::kTable) {
    std::vector<json::object> parsed;
    parsed.reserve(objects.size());
    for (const ObjectPtr& object : objects) parsed.push_back(object->parsed());
    return json::serialize(
        table_json(resource, parsed, metadata,
                   {.version = view.version, .include = view.include, .now = now}));
  }
  const bool partial =
      view.form == AnswerForm::kPartialMetadata || view.form == AnswerForm::kPartialMetadataList;
  std::string text =
      partial ? fmt::format(R"({{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{}")",
                            view.version)
              : fmt::format(R"({{"kind":"{}List","apiVersion":"v1")", info_of(resource).kind);
  text += R"(,"metadata":)";
  text += json::serialize(to_json(metadata));
  text += R"(,"items":[)";
  bool first = true;
  for (const ObjectPtr& object : objects) {
    if (!first) text += ',';
    first = false;
    if (partial) {
      text += json::serialize(partial_metadata_json(object->parsed(), view.version));
    } else {
      text += object->item();
    }
  }
  text += "]}";
  return text;
}

}  // namespace corehold
