// SPDX-License-Identifier: Apache-2.0
//
// Changed nodes, as pod_update.h does it for pods.
#pragma once

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/object/object_rules.h"

namespace corehold {

enum class NodePath { kObject, kStatus };

struct NodeUpdate {
  NodePath path = NodePath::kObject;
  WriteVerb verb = WriteVerb::kPatch;
  bool has_declared_features = true;  // gate NodeDeclaredFeatures; off, the field is dropped
};

// The node to store: on kObject status is that of `old`, on kStatus spec. Fails with 400, 409
// and 422 as prepare_pod_update() does; declaredFeatures must be names, sorted, each once.
ApiResult<boost::json::object> prepare_node_update(const boost::json::object& old,
                                                   const boost::json::object& next,
                                                   const NodeUpdate& update);

// Equal but for managedFields and how they are written: nothing to store, no new version.
bool is_same_node(const boost::json::object& old, const boost::json::object& next);

}  // namespace corehold
