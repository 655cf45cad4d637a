// SPDX-License-Identifier: Apache-2.0
#include "agent/node/node_document.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

#include "api/json/json_look.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

// `theirs` with everything that `own` says.
json::object overlaid(json::object theirs, const json::object& own) {
  for (const auto& member : own) theirs[member.key()] = member.value();
  return theirs;
}

json::object object_at(const json::object& object, LookPath path) {
  const json::object* found = look_object(object, path);
  return found == nullptr ? json::object() : *found;
}

bool is_of_type(const json::value& condition, std::string_view type) {
  return look_text(as_object_or_empty(condition), {"type"}) == type;
}

}  // namespace

NodeDocument::NodeDocument(std::string uid, WallTime created_at)
    : uid_(std::move(uid)), created_at_(created_at) {}

Result<NodeDocument> NodeDocument::parse(std::string_view text) {
  const auto value = parse_json(text);
  if (!value || !value->is_object()) {
    return Error{Code::kCorrupt, "what was written onto the node is no JSON object"};
  }
  const json::object& object = value->get_object();
  NodeDocument document;
  document.uid_ = look_text(object, {"uid"});
  document.created_at_ = WallTime(look_number(object, {"createdAt"}));
  document.cordoned_ = look_true(object, {"unschedulable"});
  document.labels_ = object_at(object, {"labels"});
  document.annotations_ = object_at(object, {"annotations"});
  document.conditions_ = look_array(object, {"conditions"});
  document.managed_fields_ = look_array(object, {"managedFields"});
  if (document.uid_.empty()) return Error{Code::kCorrupt, "the node has no UID"};
  return document;
}

std::string NodeDocument::text() const {
  return json::serialize(json::object{{"uid", uid_},
                                      {"createdAt", created_at_.count()},
                                      {"unschedulable", cordoned_},
                                      {"labels", labels_},
                                      {"annotations", annotations_},
                                      {"conditions", conditions_},
                                      {"managedFields", managed_fields_}});
}

json::object NodeDocument::object(NodeView view) const {
  view.uid = uid_;
  view.created_at = created_at_;
  json::object node = to_json(view);
  json::object& metadata = node["metadata"].as_object();
  metadata["labels"] = overlaid(labels_, object_at(node, {"metadata", "labels"}));
  // What nobody declares now may have been declared when clients wrote the others.
  json::object annotations = annotations_;
  annotations.erase(kFeaturesAnnotation);
  metadata["annotations"] =
      overlaid(std::move(annotations), object_at(node, {"metadata", "annotations"}));
  if (!managed_fields_.empty()) metadata["managedFields"] = managed_fields_;
  if (cordoned_) node["spec"].as_object()["unschedulable"] = true;
  json::array& conditions = node["status"].as_object()["conditions"].as_array();
  const json::array own = conditions;
  for (const json::value& theirs : conditions_) {
    const std::string_view type = look_text(as_object_or_empty(theirs), {"type"});
    if (std::none_of(own.begin(), own.end(),
                     [&](const json::value& mine) { return is_of_type(mine, type); })) {
      conditions.push_back(theirs);
    }
  }
  return node;
}

void NodeDocument::take(const json::object& node) {
  labels_ = object_at(node, {"metadata", "labels"});
  annotations_ = object_at(node, {"metadata", "annotations"});
  managed_fields_ = look_array(node, {"metadata", "managedFields"});
  cordoned_ = look_true(node, {"spec", "unschedulable"});
  conditions_ = look_array(node, {"status", "conditions"});
}

}  // namespace corehold
