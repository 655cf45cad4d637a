// SPDX-License-Identifier: Apache-2.0
//
// The parts of the agent that the shell tells what has happened (events, metrics, replies, steps).
// Tests have a fake.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "manager/effect.h"
#include "manager/node_state.h"

namespace corehold {

// Called in the middle of effects: what is asked of the shell from here comes later.
class ShellListener {
 public:
  virtual ~ShellListener() = default;
  virtual void replied(const Reply& reply) = 0;
  virtual void happened(const EmitEvent& event, const NodeState& node) = 0;
  virtual void counted(const CountMetric& metric) = 0;
  // After each step, when all its effects have been run. `touched` are the UIDs of the pods that
  // may look different since the last call, or are gone (Outcome::touched_pods).
  virtual void changed(const NodeState& node, std::span<const std::string> touched) = 0;
};

}  // namespace corehold
