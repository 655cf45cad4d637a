// SPDX-License-Identifier: Apache-2.0
#include "agent/node_writer.h"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/answer.h"
#include "agent/view.h"
#include "api/json_look.h"
#include "api/managed_fields.h"
#include "api/node_update.h"
#include "api/pod_update.h"

namespace corehold {
namespace {

namespace json = boost::json;

// A taint asks schedulers to stay away, and here is none that would.
ApiResult<bool> check_spec(const json::object& current, const json::object& next) {
  const json::array& taints = look_array(next, {"spec", "taints"});
  if (taints.empty() || taints == look_array(current, {"spec", "taints"})) return true;
  const std::string name(look_text(current, {"metadata", "name"}));
  const std::string text =
      "Forbidden: there is no scheduler on a single node that would obey taints; "
      "spec.unschedulable (kubectl cordon) keeps new pods waiting";
  return ApiStatus{
      .reason = StatusReason::kInvalid,
      .message = fmt::format("Node \"{}\" is invalid: spec.taints: {}", name, text),
      .kind = "Node",
      .name = name,
      .causes = {{.reason = "FieldValueForbidden", .message = text, .field = "spec.taints"}}};
}

}  // namespace

void NodeWriter::update(const HttpExchangePtr& exchange, const HttpTarget& target,
                        const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  const ObjectPtr old = parts_.catalogue.log(Resource::kNodes).find("", path.name);
  if (old == nullptr) return answer_status(*exchange, no_such_object(path));
  const json::object current = old->parsed();
  const auto next = wanted(*request, current);
  if (!next) return answer_status(*exchange, next.error());
  auto prepared =
      prepare_node_update(current, next->object,
                          {.path = path.subresource.empty() ? NodePath::kObject : NodePath::kStatus,
                           .verb = next->verb,
                           .has_declared_features = parts_.facts.features.has_value()});
  if (!prepared) return answer_status(*exchange, prepared.error());
  if (const auto checked = check_spec(current, *prepared); !checked) {
    return answer_status(*exchange, checked.error());
  }
  const json::object written = with_writer(*request, *next, current, *std::move(prepared));
  store(*request, *old, written);
}

void NodeWriter::store(const WriteRequest& request, const ObjectVersion& old,
                       const json::object& written) {
  NodeDocument next = parts_.document;
  next.take(written);
  json::object object = next.object(node_view(parts_.facts, old.version()));
  if (same_object("Node", old.parsed(), object)) return answer_object(request, 200, old);
  if (request.is_try) {
    return answer_object(request, 200,
                         ObjectVersion(Resource::kNodes, std::move(object), old.version()));
  }
  if (const auto saved = parts_.save(next); !saved) {
    return answer_error(*request.exchange, StatusReason::kInternal, saved.error());
  }
  parts_.document = std::move(next);
  parts_.shell.submit(SetCordon{.cordoned = parts_.document.is_cordoned()});
  parts_.catalogue.follow(std::move(object));
  const ObjectPtr now = parts_.catalogue.log(Resource::kNodes).find("", old.name());
  answer_object(request, 200, *now);
}

}  // namespace corehold
