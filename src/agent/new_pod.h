// SPDX-License-Identifier: Apache-2.0
//
// What a new pod must be before the manager is given it.
#pragma once

#include <string>
#include <string_view>

#include "api/run_message.h"
#include "base/result.h"
#include "pod/pod.h"
#include "sim/node_setup.h"

namespace corehold {

// Gives it a UID. Fails with kInvalid, all mistakes in one message: those of validate(),
// what the process runtime cannot do, and names that are not as Kubernetes wants them:
// they become names of directories.
Result<void> accept_new_pod(Pod& pod);

// Fails with kInvalid for a pod that would be refused though nobody else were there.
Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup);

// What a pod of `corehold run` is called.
inline constexpr std::string_view kRunContainer = "main";
inline constexpr std::string_view kRunAnnotation = "corehold.dev/run";

// The pod that stands for a command: Guaranteed, with whole CPUs of its own.
Pod run_pod(const RunRequest& request);

}  // namespace corehold
