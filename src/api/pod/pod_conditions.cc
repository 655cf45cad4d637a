// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "api/json/time_text.h"
#include "api/pod/pod_object.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using Stage = ContainerView::Stage;

constexpr std::string_view kResizePending = "PodResizePending";
constexpr std::string_view kResizeInProgress = "PodResizeInProgress";
constexpr std::string_view kRestarting = "AllContainersRestarting";

struct Condition {
  std::string_view type;
  bool holds = false;
  milliseconds since{};
  std::string reason{};
  std::string message{};
};

json::object to_json(const Condition& condition) {
  // Times that are not known are written too, as an API server does: `kubectl diff` compares.
  json::object object{{"type", condition.type},
                      {"status", condition.holds ? "True" : "False"},
                      {"lastProbeTime", nullptr},
                      {"lastTransitionTime", nullptr}};
  if (condition.since.count() != 0) object["lastTransitionTime"] = time_text(condition.since);
  if (!condition.reason.empty()) object["reason"] = condition.reason;
  if (!condition.message.empty()) object["message"] = condition.message;
  return object;
}

milliseconds changed_at(const ContainerView& view) {
  switch (view.stage) {
    case Stage::kRunning:
      return view.started_at;
    case Stage::kTerminated:
      return view.exit ? view.exit->finished_at : milliseconds{0};
    case Stage::kWaiting:
      return view.last ? view.last->finished_at : milliseconds{0};
  }
  return milliseconds{0};
}

milliseconds latest(const std::vector<ContainerView>& views, milliseconds at_least) {
  for (const ContainerView& view : views) at_least = std::max(at_least, changed_at(view));
  return at_least;
}

bool is_done(const ContainerView& view) {
  return view.stage == Stage::kTerminated && view.exit && view.exit->code == 0;
}

const ContainerView* find(const std::vector<ContainerView>& views, std::string_view name) {
  const auto found = std::find_if(views.begin(), views.end(),
                                  [&](const ContainerView& view) { return view.name == name; });
  return found == views.end() ? nullptr : &*found;
}

Condition scheduled(const PodView& view) {
  if (view.scheduled) {
    return {.type = "PodScheduled",
            .holds = true,
            .since = view.started_at.count() != 0 ? view.started_at : view.created_at};
  }
  return {.type = "PodScheduled",
          .holds = false,
          .since = view.created_at,
          .reason = view.reason,
          .message = view.message};
}

bool has_ended(const PodView& view) { return view.phase == "Succeeded" || view.phase == "Failed"; }

Condition initialized(const PodView& view) {
  std::vector<std::string> missing;
  for (const Container& container : view.pod.init_containers) {
    const ContainerView* own = find(view.init_containers, container.name);
    const bool up = container.kind == Container::Kind::kSidecar && own != nullptr &&
                    own->stage == Stage::kRunning;
    if (!up && (own == nullptr || !is_done(*own))) missing.push_back(container.name);
  }
  Condition condition{.type = "Initialized",
                      .holds = view.scheduled && missing.empty(),
                      .since = latest(view.init_containers, view.started_at)};
  if (condition.since.count() == 0) condition.since = view.created_at;
  if (view.phase == "Succeeded") {
    condition.holds = true;
    condition.reason = "PodCompleted";
  } else if (!missing.empty()) {
    condition.reason = "ContainersNotInitialized";
    condition.message =
        fmt::format("containers with incomplete status: [{}]", fmt::join(missing, " "));
  }
  return condition;
}

Condition ready(const PodView& view, std::string_view type) {
  std::vector<std::string> missing;
  for (const Container* container : in_starting_order(view.pod)) {
    if (container->kind == Container::Kind::kInit) continue;
    const ContainerView* own =
        find(container->kind == Container::Kind::kApp ? view.containers : view.init_containers,
             container->name);
    if (own == nullptr || own->stage != Stage::kRunning) missing.push_back(container->name);
  }
  Condition condition{.type = type,
                      .holds = missing.empty() && view.scheduled && !has_ended(view),
                      .since = latest(view.containers, view.started_at)};
  if (condition.since.count() == 0) condition.since = view.created_at;
  if (condition.holds) return condition;
  if (view.phase == "Succeeded") {
    condition.reason = "PodCompleted";
  } else if (view.phase == "Failed") {
    condition.reason = "PodFailed";
  } else {
    condition.reason = "ContainersNotReady";
    condition.message =
        fmt::format("containers with unready status: [{}]", fmt::join(missing, " "));
  }
  return condition;
}

Condition resize(const ResizeView& view, std::string_view type) {
  return {.type = type,
          .holds = true,
          .since = view.since,
          .reason = view.reason,
          .message = view.message};
}

Condition restarting(const PodView& view) {
  Condition condition{.type = kRestarting, .since = view.restart_all->since};
  if (condition.since.count() == 0) condition.since = view.created_at;
  if (has_ended(view)) {
    condition.reason = view.phase == "Succeeded" ? "PodCompleted" : "PodFailed";
  } else if (view.restart_all->under_way) {
    condition.holds = true;
    condition.reason = "RestartAllContainersStarted";
    condition.message = "container exited with restart policy rule";
  }
  return condition;
}

}  // namespace

bool is_own_condition(std::string_view type) {
  constexpr std::array<std::string_view, 7> kTypes{
      kResizePending,    kResizeInProgress, "PodScheduled", "Initialized",
      "ContainersReady", "Ready",           kRestarting};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

json::array pod_conditions(const PodView& view) {
  json::array conditions;
  if (view.resize_pending)
    conditions.push_back(to_json(resize(*view.resize_pending, kResizePending)));
  if (view.resize_in_progress)
    conditions.push_back(to_json(resize(*view.resize_in_progress, kResizeInProgress)));
  // While a decision about a pod is being saved, there is nothing to say yet.
  const bool is_decided = view.scheduled || !view.reason.empty() || !view.message.empty();
  if (is_decided) conditions.push_back(to_json(scheduled(view)));
  conditions.push_back(to_json(initialized(view)));
  conditions.push_back(to_json(ready(view, "ContainersReady")));
  conditions.push_back(to_json(ready(view, "Ready")));
  if (view.restart_all) conditions.push_back(to_json(restarting(view)));
  return conditions;
}

}  // namespace corehold
