// SPDX-License-Identifier: Apache-2.0
#include "agent/catalogue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/view.h"
#include "api/event_object.h"
#include "api/namespace_object.h"

namespace corehold {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

// A node is small, and so is what it remembers for watchers that were away for a moment.
constexpr WatchLogLimits kPodLimits{.changes = 1024, .bytes = std::size_t{2} << 20U};
constexpr WatchLogLimits kOtherLimits{.changes = 512, .bytes = std::size_t{512} << 10U};

// A pod that the store does not have yet, or has refused, has never been, unless it runs.
bool is_there(const PodState& pod) {
  return pod.in_store || std::any_of(pod.containers.begin(), pod.containers.end(),
                                     [](auto& own) { return own.second.stage != Stage::kIdle; });
}

}  // namespace

Catalogue::Catalogue(const NodeFacts& facts, std::uint64_t version)
    : facts_(&facts), version_(version) {
  for (const ResourceInfo& info : served_resources()) {
    logs_.emplace(info.resource,
                  WatchLog(info.resource, version,
                           info.resource == Resource::kPods ? kPodLimits : kOtherLimits));
  }
  follow_namespaces();
}

Catalogue::Look Catalogue::look_of(const PodState& pod) {
  const PodRecord& record = pod.record;
  Look look{.edits = pod.edits,
            .generation = record.generation,
            .deleted_at = record.deleted_at,
            .grace = record.grace,
            .started_at = record.started_at,
            .reason = record.reason,
            .message = record.message,
            .failed = record.failed,
            .admitted = pod.admitted,
            .restart_all = record.restart_all,
            .wishes = record.wish.has_value(),
            .wished_at = record.wish ? record.wish->since : WallTime{},
            .verdict = pod.resize.verdict,
            .resize_message = pod.resize.message,
            .resize_errors = pod.resize.errors};
  constexpr std::size_t kNumbers = 7;
  look.containers.reserve(pod.containers.size() * kNumbers);
  for (const auto& [name, state] : pod.containers) {
    const auto found = record.containers.find(name);
    static const ContainerRecord kNone;
    const ContainerRecord& own = found == record.containers.end() ? kNone : found->second;
    for (const std::int64_t number :
         {std::int64_t{own.attempt}, std::int64_t{own.exits}, std::int64_t{own.ended},
          std::int64_t{own.started_at.count()}, static_cast<std::int64_t>(state.stage),
          std::int64_t{state.backing_off}, std::int64_t{own.actual.has_value()}}) {
      look.containers.push_back(number);
    }
  }
  return look;
}

void Catalogue::follow(const NodeState& node) {
  bool any = remove_gone(node);
  for (const auto& [uid, pod] : node.pods) {
    if (!is_there(pod)) continue;
    Look look = look_of(pod);
    Shown& shown = pods_[uid];
    const bool is_new = shown.name.empty();
    if (!is_new && shown.look == look) continue;
    shown.namespace_name = pod.record.pod.namespace_name;
    shown.name = pod.record.pod.name;
    shown.look = std::move(look);
    writable(Resource::kPods).put(pod_json(pod, *facts_, version_ + 1), version_ + 1);
    ++version_;
    any = true;
  }
  if (any) follow_namespaces();
  changed(any);
}

bool Catalogue::remove_gone(const NodeState& node) {
  bool any = false;
  for (auto entry = pods_.begin(); entry != pods_.end();) {
    const auto pod = node.pods.find(entry->first);
    if (pod != node.pods.end() && is_there(pod->second)) {
      ++entry;
      continue;
    }
    const Shown gone = std::move(entry->second);
    entry = pods_.erase(entry);
    if (writable(Resource::kPods).remove(gone.namespace_name, gone.name, version_ + 1)) ++version_;
    any = true;
  }
  return any;
}

// There are those of the pods, and "default".
void Catalogue::follow_namespaces() {
  std::set<std::string, std::less<>> wanted{std::string(kDefaultNamespace)};
  for (const auto& [uid, shown] : pods_) wanted.insert(shown.namespace_name);
  WatchLog& log = writable(Resource::kNamespaces);
  for (const std::string& name : wanted) {
    if (log.find("", name) != nullptr) continue;
    log.put(namespace_json(name, facts_->started_at), ++version_);
  }
  const auto page = log.list({});
  if (!page) return;
  for (const ObjectPtr& object : page->items) {
    if (wanted.contains(object->name())) continue;
    if (log.remove("", object->name(), version_ + 1)) ++version_;
  }
}

void Catalogue::follow(const EventBook::Change& change) {
  WatchLog& log = writable(Resource::kEvents);
  log.put(to_json(change.view), ++version_);
  if (change.gone &&
      log.remove(event_namespace(*change.gone), event_name(*change.gone), version_ + 1)) {
    ++version_;
  }
  changed(true);
}

void Catalogue::follow(boost::json::object node_object) {
  writable(Resource::kNodes).put(std::move(node_object), ++version_);
  changed(true);
}

const WatchLog& Catalogue::log(Resource resource) {
  WatchLog& log = writable(resource);
  log.advance(version_);
  return log;
}

void Catalogue::changed(bool any) {
  if (any && on_change) on_change();
}

}  // namespace corehold
