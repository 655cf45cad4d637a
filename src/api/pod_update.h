// SPDX-License-Identifier: Apache-2.0
//
// Changed pods: which of the changes a client wants are made, by the path it uses, and which
// are refused, as a Kubernetes API server decides it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/object_rules.h"
#include "api/pod_rules.h"

namespace corehold {

enum class PodPath { kObject, kStatus, kResize };

struct PodUpdate {
  PodPath path = PodPath::kObject;
  WriteVerb verb = WriteVerb::kPatch;
};

// The pod to store. `old` is stored, `next` is what read_object() or read_patched() gave.
// What this path may not write is as in `old`: status on kObject, everything but status on
// kStatus (labels and annotations may be written there too), everything but resources on
// kResize. metadata that is the system's is that of `old`; the caller raises generation when
// changes_spec(). An object equal to `old` is not to be stored again: see same_object().
//
// Fails with 400 (another name or namespace), 409 (another resourceVersion) and 422.
ApiResult<boost::json::object> prepare_pod_update(const boost::json::object& old,
                                                  const boost::json::object& next,
                                                  const PodUpdate& update, const PodRules& rules,
                                                  std::vector<std::string>& warnings);

// Whether generation is to be raised.
bool changes_spec(const boost::json::object& old, const boost::json::object& next);

// Equal but for managedFields and how they are written: nothing to store, no new version.
// `kind` is "Pod" or "Node".
bool same_object(std::string_view kind, const boost::json::object& old,
                 const boost::json::object& next);

}  // namespace corehold
