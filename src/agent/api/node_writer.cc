// SPDX-License-Identifier: Apache-2.0
#include "agent/api/node_writer.h"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/view/view.h"
#include "api/json/json_look.h"
#include "api/node/node_update.h"
#include "api/patch/managed_fields.h"
#include "serve/answer.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Taints are for schedulers, and a node of its own has none.
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

NodeWriter::NodeWriter(NodeWriterParts parts)
    : parts_(std::move(parts)),
      turns_(parts_.loop, [this](const std::string&) { return !is_saving_; }) {}

void NodeWriter::update(const HttpExchangePtr& exchange, const HttpTarget& target,
                        const ResourcePath& path) {
  // There is one node.
  turns_.take("", [this, exchange, target, path] { change(exchange, target, path); });
}

void NodeWriter::change(const HttpExchangePtr& exchange, const HttpTarget& target,
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
  const json::object written =
      next->is_apply ? *std::move(prepared)
                     : record_update("Node", current, *std::move(prepared), request->writer);
  store(*request, *old, current, written);
}

void NodeWriter::store(const WriteRequest& request, const ObjectVersion& old,
                       const json::object& current, const json::object& written) {
  NodeDocument next = parts_.document;
  next.take(written);
  json::object object = next.object(node_view(parts_.facts, old.version()));
  if (is_same_node(current, object)) return answer_object(request, 200, old);
  if (request.is_try) {
    return answer_object(request, 200,
                         ObjectVersion(Resource::kNodes, std::move(object), old.version()));
  }
  is_saving_ = true;
  parts_.save(next, [this, request, next](const std::optional<Error>& error) {
    is_saving_ = false;
    turns_.look();
    if (!error) return saved(request, next);
    answer_error(*request.exchange, StatusReason::kInternal, *error);
  });
}

void NodeWriter::saved(const WriteRequest& request, NodeDocument document) {
  parts_.document = std::move(document);
  parts_.shell.submit(SetCordon{.cordoned = parts_.document.is_cordoned()});
  parts_.catalogue.follow(parts_.document.object(node_view(parts_.facts, 0)));
  const ObjectPtr now = parts_.catalogue.log(Resource::kNodes).find("", request.path.name);
  answer_object(request, 200, *now);
}

}  // namespace corehold
