// SPDX-License-Identifier: Apache-2.0
//
// Whether a new pod is acceptable: every mistake of it, with its field, decided here for whoever
// brings the pod: a client of the API, a file below staticPodPath, `corehold run`.
//
// What no Kubernetes API server takes is told in its words and by itself, so that clients read
// the refusals they know. Of a pod without such mistakes it is then told what this node cannot
// do with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "api/field_errors.h"
#include "api/pod/api_pod.h"
#include "api/pod/pod_rules.h"
#include "api/status.h"

namespace corehold {

// How many containers, init containers included, a pod may have on a node.
constexpr std::size_t kMaxPodContainers = 256;

// All mistakes of a new pod. REQUIRES: `pod` is canonical (typed_reader.h), with defaults, and
// `model` was read from it.
FieldErrors pod_mistakes(const boost::json::object& pod, const Result<ApiPod>& model,
                         const PodRules& rules);

// The Status that refuses a pod of more than kMaxObjectBytes, 413. A pod that was longer before a
// change may stay so.
std::optional<ApiStatus> refuse_too_long(const boost::json::object& pod,
                                         const boost::json::object& before = {});

// What this node cannot do with a pod, as "field path: what is wrong": amounts that nobody can
// grant (mistakes() of pod.h, which is what `corehold plan` asks as well), names that cannot
// become names of directories, more than kMaxPodContainers, and what the runtime cannot run.
std::vector<std::string> node_mistakes(const Pod& pod, const NodeRules& rules);

// The same in one message, which names the pod; "" for a pod without mistakes.
std::string node_mistakes_text(const Pod& pod, const NodeRules& rules);

}  // namespace corehold
