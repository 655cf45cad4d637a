// SPDX-License-Identifier: Apache-2.0
//
// New pods: from what a client sends to what is stored, with the defaults and refusals of a
// Kubernetes API server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/patch/managed_fields.h"
#include "api/pod/api_pod.h"
#include "api/pod/pod_rules.h"

namespace corehold {

struct NewPodRequest {
  std::string_view namespace_name{};  // of the path
  // What makes a name of metadata.generateName: five characters, different each time.
  std::string_view name_suffix{};
  // Who owns its fields; null: its managedFields say so already.
  const FieldWriter* writer = nullptr;
};

// `body` is what read_object("Pod") or read_patched("Pod") gave. The pod has its namespace, its
// name and all defaults; status says phase Pending and the QoS class; uid, resourceVersion,
// generation and creationTimestamp are for the caller to give. Preparing a prepared pod changes
// nothing.
//
// Fails with 400 for another namespace, and 422 with a cause for every mistake.
ApiResult<ApiPod> prepare_new_pod(boost::json::object body, const NewPodRequest& request,
                                  const PodRules& rules, std::vector<std::string>& warnings);

}  // namespace corehold
