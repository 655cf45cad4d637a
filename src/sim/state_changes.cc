// SPDX-License-Identifier: Apache-2.0
#include "sim/state_changes.h"

#include <fmt/format.h>

#include "base/check.h"

namespace corehold {
namespace {

constexpr std::string_view kUnknown = "[*]";

using States = std::map<ContainerRef, std::string_view>;

std::string_view state_in(const States& states, const ContainerRef& ref) {
  const auto found = states.find(ref);
  return found == states.end() ? kUnknown : found->second;
}

void compare(const States& before, const States& after, std::set<StateChange>& seen) {
  for (const auto& [ref, state] : before) {
    const std::string_view now = state_in(after, ref);
    if (now != state) seen.insert({std::string(state), std::string(now)});
  }
  for (const auto& [ref, state] : after) {
    if (!before.contains(ref)) seen.insert({std::string(kUnknown), std::string(state)});
  }
}

}  // namespace

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::kIdle:
      return "kIdle";
    case Stage::kBackingOff:
      return "kBackingOff";
    case Stage::kStarting:
      return "kStarting";
    case Stage::kRunning:
      return "kRunning";
    case Stage::kStopping:
      return "kStopping";
    case Stage::kRestarting:
      return "kRestarting";
  }
  check_failed("every stage has a name", __FILE__, __LINE__);
}

std::string_view name_of(Presence presence) {
  switch (presence) {
    case Presence::kAbsent:
      return "kAbsent";
    case Presence::kStarting:
      return "kStarting";
    case Presence::kRunning:
      return "kRunning";
  }
  check_failed("every presence has a name", __FILE__, __LINE__);
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::kWaiting:
      return "kWaiting";
    case Standing::kBooked:
      return "kBooked";
    case Standing::kAdmitted:
      return "kAdmitted";
  }
  check_failed("every standing has a name", __FILE__, __LINE__);
}

std::string_view name_of(Course course) {
  switch (course) {
    case Course::kStaying:
      return "kStaying";
    case Course::kStopping:
      return "kStopping";
    case Course::kOver:
      return "kOver";
  }
  check_failed("every course has a name", __FILE__, __LINE__);
}

StateChanges::AllStates StateChanges::states_of(const NodeState& node) {
  AllStates all;
  for (const auto& [uid, pod] : node.running.pods) {
    for (const auto& [name, container] : pod.containers) {
      all.stages[{uid, name}] = name_of(container.stage);
    }
  }
  for (const auto& [uid, pod] : node.placing.pods) {
    all.standings[{uid, ""}] = name_of(pod.standing);
    all.courses[{uid, ""}] = name_of(pod.course);
    for (const auto& [name, container] : pod.containers) {
      all.presences[{uid, name}] = name_of(container.presence);
    }
  }
  return all;
}

void StateChanges::begin(const NodeState& node) { before_ = states_of(node); }

void StateChanges::end(const NodeState& node) {
  const AllStates now = states_of(node);
  compare(before_.stages, now.stages, seen_["Stage"]);
  compare(before_.presences, now.presences, seen_["Presence"]);
  compare(before_.standings, now.standings, seen_["Standing"]);
  compare(before_.courses, now.courses, seen_["Course"]);
  for (const auto& [ref, presence] : now.presences) {
    const auto stage = now.stages.find(ref);
    pairs_.insert(
        fmt::format("{} {}", stage == now.stages.end() ? "none" : stage->second, presence));
  }
}

}  // namespace corehold
