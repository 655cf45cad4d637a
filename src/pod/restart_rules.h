// SPDX-License-Identifier: Apache-2.0
//
// restartPolicyRules of a container (KEP-5307, KEP-5532): what is to be done when it ends with
// certain exit codes, before its restartPolicy is asked.
#pragma once

#include <optional>

#include "pod/pod.h"

namespace corehold {

enum class RestartAction {
  kRestart,     // the container runs again
  kRestartAll,  // all containers of the pod start over, init containers first
};

// What the first of the container's rules wants that fits this exit code. No value: none fits,
// or that one wants something unknown. Rules of a wrong shape fit nothing.
std::optional<RestartAction> restart_action(const Pod& pod, const Container& container, int code);

}  // namespace corehold
