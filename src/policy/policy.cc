// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

namespace corehold {

void apply(State& state, const Plan& plan) {
  for (const Edit& edit : plan.edits) apply(state, edit);
}

}  // namespace corehold
