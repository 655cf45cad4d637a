// SPDX-License-Identifier: Apache-2.0
//
// step(): the whole of what a node decides. A command changes what is wanted or what is
// known; then everything that is wanted, not yet so, and permitted by what has been
// confirmed becomes an effect. The promises:
//
// - Exclusive before start. A container is started on CPUs only when the checkpoint that
//   gives them to it is saved and no other container can be running there: the smaller
//   cpuset of the shared containers is confirmed.
// - Nothing lost. CPUs go back to the pool only when the runtime has confirmed that their
//   holder is gone and the checkpoint that frees them is saved.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manager/command.h"
#include "manager/effect.h"
#include "manager/node_state.h"
#include "manager/rules.h"
#include "manager/running/facts.h"

namespace corehold {

struct Outcome {
  NodeState node{};
  std::vector<Effect> effects{};
  // UIDs of the pods whose state may have changed, or that have gone; sorted.
  std::vector<std::string> touched_pods{};
};

// The first command of a life is Recover, on a NodeState of which only `placing.bookings` are set:
// the books of the node when nobody is there.
Outcome step(const ManagerRules& rules, NodeState node, const Command& command, const Now& now);

// Several that have come together: each is taken in its turn, and only then is it decided
// what follows, once for all.
Outcome step(const ManagerRules& rules, NodeState node, std::span<const Command> commands,
             const Now& now);

// Every broken promise: those of the State (state/invariants.h), and two containers that
// may run on a CPU that one of them holds. Empty when all is well.
std::vector<std::string> violations(const ManagerRules& rules, const NodeState& node);

}  // namespace corehold
