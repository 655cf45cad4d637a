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
  CpuSet online{};  // every CPU of the machine that the checkpoint is for
};

// What is to be different; no value leaves a thing as it is.
struct ConvertRequest {
  std::optional<std::string> policy{};  // "none" or "static"
  std::optional<ReservedChange> reserved{};
};

// The state as the changed configuration expects it. A new policy starts from an
// empty default set, which it fills from the machine at its start. With other
// reserved CPUs the default set is every online CPU that no container holds and
// that is not strictly reserved, whatever it was before.
//
// Fails with kInvalid for an unknown policy, and for reserved CPUs that are none, that
// the machine lacks, or that are for policy none. Fails with kConflict when a container
// would have to move: it holds a CPU to be reserved, or any CPU while the policy
// changes; when the state names CPUs that the machine lacks; and when no CPU would
// be left in the default set.
Result<State> convert_state(State state, const ConvertRequest& request);

}  // namespace corehold
