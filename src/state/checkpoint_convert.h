// SPDX-License-Identifier: Apache-2.0
//
// Changing what a checkpoint was made for (policy, reserved CPUs, strictness)
// without moving a running container. Where the kubelet asks to drain the node and
// delete the file, this edits the state, or says why it cannot be done.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "state/state.h"

namespace corehold {

enum class ReservedUse {
  kShared,     // reserved CPUs are in the shared pool, as by default
  kSystemOnly  // strict-cpu-reservation: they are in no pool
};

struct ReservedChange {
  CpuSet cpus;
  ReservedUse use = ReservedUse::kShared;
};

// What is to be different; no value leaves a thing as it is.
struct ConvertRequest {
  std::optional<std::string> policy{};  // "none" or "static"
  std::optional<ReservedChange> reserved{};
};

// The state as the changed configuration expects it. A new policy starts from an
// empty default set, which it fills from the machine at its start.
//
// Fails with kInvalid for an unknown policy, and with kConflict when a container
// would have to move: it holds a CPU to be reserved, or any CPU while the policy
// changes; or when no CPU would be left in the default set.
Result<State> convert_state(State state, const ConvertRequest& request);

}  // namespace corehold
