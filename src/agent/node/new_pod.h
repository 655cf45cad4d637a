// SPDX-License-Identifier: Apache-2.0
//
// The pods of `corehold run`: how they are made, and the checks before the manager is given one.
#pragma once

#include <string>
#include <string_view>

#include "api/own/run_message.h"
#include "api/pod/pod_rules.h"
#include "base/result.h"
#include "node/node_setup.h"
#include "pod/pod.h"

namespace corehold {

// Gives the pod a UID. Fails with kInvalid, all mistakes of the pod in one message
// (node_mistakes() of api/pod_acceptance.h).
Result<void> accept_run_pod(Pod& pod, const NodeRules& rules);

// Fails with kInvalid for a pod that would be refused on the empty node.
Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup);

// The name of a pod of `corehold run`.
inline constexpr std::string_view kRunContainer = "main";
inline constexpr std::string_view kRunAnnotation = "corehold.dev/run";

// The pod that stands for a command: Guaranteed, with whole CPUs of its own.
Pod run_pod(const RunRequest& request);

}  // namespace corehold
