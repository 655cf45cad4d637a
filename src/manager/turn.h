// SPDX-License-Identifier: Apache-2.0
//
// Turn: one step() under way: rules, time and the effects so far. Each half of the manager has a
// turn of its own with its state. Inside the manager only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "manager/effect.h"
#include "manager/rules.h"
#include "manager/time.h"

namespace corehold {

struct Turn {
  const ManagerRules& rules;
  const Now& now;
  std::vector<Effect>& effects;

  void emit(Effect effect) const { effects.push_back(std::move(effect)); }
  void note(const ContainerRef& about, std::string reason, std::string message) const {
    emit(EmitEvent{.type = EmitEvent::Type::kNormal,
                   .about = about,
                   .reason = std::move(reason),
                   .message = std::move(message)});
  }
  void warn(const ContainerRef& about, std::string reason, std::string message) const {
    emit(EmitEvent{.type = EmitEvent::Type::kWarning,
                   .about = about,
                   .reason = std::move(reason),
                   .message = std::move(message)});
  }
};

}  // namespace corehold
