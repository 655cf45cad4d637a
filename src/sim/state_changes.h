// SPDX-License-Identifier: Apache-2.0
//
// StateChanges: which changes of state the manager really makes, for comparison with what
// docs/architecture.md draws (tests/states). It looks at a node before and after each step(). A new
// source of steps calls begin() and end() around its own, or World::watch() if it has a World.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "manager/node_state.h"
#include "pod/container_ref.h"

namespace corehold {

// "kIdle", as the code writes it.
std::string_view name_of(Stage stage);
std::string_view name_of(Presence presence);
std::string_view name_of(Standing standing);
std::string_view name_of(Course course);

// One arrow of a state diagram; "[*]" stands for a container or pod that is not known.
struct StateChange {
  std::string from{};
  std::string to{};

  auto operator<=>(const StateChange&) const = default;
};

class StateChanges {
 public:
  // Before and after one step. Only the two are compared: a container whose state changes twice
  // within one step has made one change.
  void begin(const NodeState& node);
  void end(const NodeState& node);

  // The changes seen, by the name of the enum: Stage and Presence of containers, Standing and
  // Course of pods.
  const std::map<std::string, std::set<StateChange>>& seen() const { return seen_; }
  // The states that containers were in at the same time, "kRunning kAbsent": Stage and Presence;
  // "none" for the Stage of a container that this agent does not run.
  const std::set<std::string>& pairs() const { return pairs_; }

 private:
  // The states of one enum by container; the name of the container is empty for a state of a pod.
  using States = std::map<ContainerRef, std::string_view>;
  struct AllStates {
    States stages{};
    States presences{};
    States standings{};
    States courses{};
  };
  static AllStates states_of(const NodeState& node);

  AllStates before_{};
  std::map<std::string, std::set<StateChange>> seen_{};
  std::set<std::string> pairs_{};
};

}  // namespace corehold
