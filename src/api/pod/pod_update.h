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
#include "api/object/object_rules.h"
#include "api/patch/managed_fields.h"
#include "api/pod/api_pod.h"
#include "api/pod/pod_rules.h"

namespace corehold {

enum class PodPath { kObject, kStatus, kResize };

struct PodUpdate {
  PodPath path = PodPath::kObject;
  WriteVerb verb = WriteVerb::kPatch;
  // Who owns what is changed; null: the managedFields of `next` say so already.
  const FieldWriter* writer = nullptr;
};

// What becomes of a pod.
struct PodChange {
  ApiPod pod;
  bool is_same = false;      // nothing to store, no new version
  bool is_new_spec = false;  // metadata.generation is to be raised
};

// The pod to store. `old` is shown, `next` is what read_object() or read_patched() gave.
// What this path may not write is as in `old`: status on kObject, everything but status on
// kStatus (labels and annotations may be written there too), everything but resources on
// kResize. metadata that is the system's is that of `old`. It is the same as `old` when it is
// equal but for managedFields and how it is written; with managedFields of its own, server-side
// apply's, when it is equal as it is.
//
// Fails with 400 (another name or namespace), 409 (another resourceVersion) and 422.
ApiResult<PodChange> prepare_pod_update(const ApiPod& old, boost::json::object next,
                                        const PodUpdate& update, const PodRules& rules,
                                        std::vector<std::string>& warnings);

}  // namespace corehold
