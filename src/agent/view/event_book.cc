// SPDX-License-Identifier: Apache-2.0
#include "agent/view/event_book.h"

#include <fmt/format.h>

namespace corehold {

EventBook::Change EventBook::add(const EmitEvent& event, const NodeState& node, WallTime now) {
  const Key key{event.about.pod, event.about.container, event.type, event.reason, event.message};
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    EventView& view = known->second->view;
    ++view.count;
    view.last_at = now;
    events_.splice(events_.end(), events_, known->second);
    return {.view = view};
  }
  EventView view{.id = fmt::format("{:x}.{:x}", now.count(), ++serial_),
                 .kind = "Node",
                 .name = host_,
                 .container = event.about.container,
                 .type = event.type == EmitEvent::Type::kWarning ? "Warning" : "Normal",
                 .reason = event.reason,
                 .message = event.message,
                 .first_at = now,
                 .last_at = now,
                 .host = host_};
  if (!event.about.pod.empty()) {
    view.kind = "Pod";
    view.uid = event.about.pod;
    const auto pod = node.running.pods.find(event.about.pod);
    view.name = pod == node.running.pods.end() ? event.about.pod : pod->second.record.pod.name;
    view.namespace_name =
        pod == node.running.pods.end() ? "default" : pod->second.record.pod.namespace_name;
  }
  Change change{.view = view};
  events_.push_back({.key = key, .view = std::move(view)});
  by_key_.emplace(key, std::prev(events_.end()));
  if (events_.size() > most_) {
    change.gone = events_.front().view;
    by_key_.erase(events_.front().key);
    events_.pop_front();
  }
  return change;
}

std::vector<EventView> EventBook::all() const {
  std::vector<EventView> views;
  views.reserve(events_.size());
  for (const Entry& entry : events_) views.push_back(entry.view);
  return views;
}

}  // namespace corehold
