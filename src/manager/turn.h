// SPDX-License-Identifier: Apache-2.0
//
// Turn: one step() under way: the node being changed and the effects so far. Inside
// the manager only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "manager/step.h"

namespace corehold {

struct Turn {
  const ManagerRules& rules;
  NodeState& node;
  const Now& now;
  std::vector<Effect>& effects;

  void emit(Effect effect) { effects.push_back(std::move(effect)); }
  void note(const ContainerRef& about, std::string reason, std::string message) {
    emit(EmitEvent{.type = EmitEvent::Type::kNormal,
                   .about = about,
                   .reason = std::move(reason),
                   .message = std::move(message)});
  }
  void warn(const ContainerRef& about, std::string reason, std::string message) {
    emit(EmitEvent{.type = EmitEvent::Type::kWarning,
                   .about = about,
                   .reason = std::move(reason),
                   .message = std::move(message)});
  }
};

}  // namespace corehold
