// SPDX-License-Identifier: Apache-2.0
#include "cli/resize/resize_progress.h"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/json.hpp>

#include "api/json/json_look.h"

namespace corehold {
namespace {

namespace json = boost::json;
using Stage = ResizeProgress::Stage;

// The condition of that type if it holds; else null.
const json::object* holding(const json::object& pod, std::string_view type) {
  for (const json::value& value : look_array(pod, {"status", "conditions"})) {
    const json::object& condition = as_object_or_empty(value);
    if (look_text(condition, {"type"}) != type) continue;
    return look_text(condition, {"status"}) == "True" ? &condition : nullptr;
  }
  return nullptr;
}

// The element with that name of one of two lists; empty: in neither.
const json::object& named(const json::object& pod, std::string_view part,
                          const std::array<std::string_view, 2>& lists, std::string_view name) {
  static const json::object kNone;
  for (const std::string_view list : lists) {
    for (const json::value& value : look_array(pod, {part, list})) {
      const json::object& object = as_object_or_empty(value);
      if (look_text(object, {"name"}) == name) return object;
    }
  }
  return kNone;
}

bool requests(const json::object& container, const WantedAmount& wanted) {
  const json::value* value = look(container, {"resources", "requests", wanted.resource});
  if (value == nullptr) return false;
  const auto amount = Quantity::parse(value->is_string() ? std::string(value->get_string())
                                                         : json::serialize(*value));
  return amount && *amount == wanted.request;
}

bool asks_for(const json::object& pod, const WantedAmount& wanted) {
  return requests(named(pod, "spec", {"containers", "initContainers"}, wanted.container), wanted);
}

bool runs_with(const json::object& pod, const WantedAmount& wanted) {
  return requests(
      named(pod, "status", {"containerStatuses", "initContainerStatuses"}, wanted.container),
      wanted);
}

bool has_ended(const json::object& pod) {
  const std::string_view phase = look_text(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" ||
         !look_text(pod, {"metadata", "deletionTimestamp"}).empty();
}

ResizeProgress told_by(const json::object& condition, Stage stage) {
  return {.stage = stage, .message = std::string(look_text(condition, {"message"}))};
}

}  // namespace

std::string granted_amount(const json::object& pod, std::string_view container,
                           std::string_view resource) {
  const json::object& status =
      named(pod, "status", {"containerStatuses", "initContainerStatuses"}, container);
  return std::string(look_text(status, {"allocatedResources", resource}));
}

bool ResizeProgress::is_over() const {
  return stage != Stage::kUndecided && stage != Stage::kDeferred && stage != Stage::kInProgress;
}

ResizeProgress resize_progress(const json::object& pod, const std::vector<WantedAmount>& wanted) {
  if (has_ended(pod)) return {.stage = Stage::kEnded};
  const auto all = [&](bool (*holds)(const json::object&, const WantedAmount&)) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const WantedAmount& amount) { return holds(pod, amount); });
  };
  if (!all(asks_for)) return {.stage = Stage::kReplaced};
  if (const json::object* pending = holding(pod, "PodResizePending")) {
    const bool ever = look_text(*pending, {"reason"}) != "Infeasible";
    return told_by(*pending, ever ? Stage::kDeferred : Stage::kInfeasible);
  }
  if (const json::object* going = holding(pod, "PodResizeInProgress")) {
    return told_by(*going, Stage::kInProgress);
  }
  if (all(runs_with)) return {.stage = Stage::kDone};
  if (look_text(pod, {"status", "phase"}) == "Pending") return {.stage = Stage::kNotRunning};
  return {};
}

}  // namespace corehold
