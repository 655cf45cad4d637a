// SPDX-License-Identifier: Apache-2.0
//
// How much of the machine is kept away from CPUs that a container holds. Each level contains those
// before it, so levels can be compared.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace corehold {

enum class IsolationLevel {
  kContainers,  // other containers of this node
  kFence,       // every task of the machine outside the container
  kIrqs,        // movable interrupts, and what irqbalance would bring back
  kFull,        // unbound workqueues, movable kernel threads, watchdog, timer migration, deep sleep
};

// As in the configuration: "containers", "fence", "irqs", "full".
constexpr std::string_view name_of(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::kContainers:
      return "containers";
    case IsolationLevel::kFence:
      return "fence";
    case IsolationLevel::kIrqs:
      return "irqs";
    case IsolationLevel::kFull:
      return "full";
  }
  return "";
}

inline constexpr std::array kIsolationLevels{IsolationLevel::kContainers, IsolationLevel::kFence,
                                             IsolationLevel::kIrqs, IsolationLevel::kFull};

// No value: there is no such level.
constexpr std::optional<IsolationLevel> parse_level(std::string_view name) {
  for (const IsolationLevel level : kIsolationLevels) {
    if (name_of(level) == name) return level;
  }
  return std::nullopt;
}

}  // namespace corehold
