// SPDX-License-Identifier: Apache-2.0
#include "agent/view/catalogue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/view/view.h"
#include "api/node/event_object.h"
#include "api/node/namespace_object.h"
#include "manager/placing/facts.h"

namespace corehold {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

// Changes that are kept for watchers that were disconnected for a moment.
constexpr WatchLogLimits kPodLimits{.changes = 1024};
constexpr WatchLogLimits kOtherLimits{.changes = 512, .bytes = std::size_t{8} << 20U};

// A pod that the store does not have yet, or has refused, is not shown unless it runs.
bool is_there(const RunPod& pod) {
  return pod.store.has_any || std::any_of(pod.containers.begin(), pod.containers.end(),
                                          [](auto& own) { return is_up(own.second.stage); });
}

// What was asked of a pod through the API and the store has not confirmed is not shown: it may
// be taken back. The pod is shown as it was until then.
bool is_unconfirmed(const RunPod& pod) {
  return pod.edit ||
         pod.stored_deletion != Deletion{.at = pod.record.deleted_at, .grace = pod.record.grace};
}

}  // namespace

Catalogue::Catalogue(const NodeFacts& facts, std::uint64_t version)
    : facts_(&facts), version_(version) {
  for (const ResourceInfo& info : served_resources()) {
    logs_.emplace(info.resource,
                  WatchLog(info.resource, version,
                           info.resource == Resource::kPods ? kPodLimits : kOtherLimits));
  }
  repopulated_.emplace(kDefaultNamespace);
  follow_namespaces();
}

void Catalogue::follow(const NodeState& node, std::span<const std::string> touched) {
  bool any = false;
  // Pods that are gone come first: another pod may have the name by now.
  for (const std::string& uid : touched) {
    const auto pod = node.running.pods.find(uid);
    if (pod == node.running.pods.end() || !is_there(pod->second)) any = hide(uid) || any;
  }
  for (const std::string& uid : touched) {
    const auto pod = node.running.pods.find(uid);
    if (pod == node.running.pods.end() || !is_there(pod->second)) continue;
    if (is_unconfirmed(pod->second) && pods_.contains(uid)) continue;
    any = show(uid, pod->second, node.placing.pods.at(uid)) || any;
  }
  follow_namespaces();
  changed(any);
}

// Whether the catalogue has changed by it.
bool Catalogue::show(const std::string& uid, const RunPod& pod, const PlacedPod& placed) {
  const auto [shown, is_new] = pods_.try_emplace(uid);
  if (is_new) {
    shown->second = {.namespace_name = pod.record.pod.namespace_name, .name = pod.record.pod.name};
    const std::string& name = shown->second.namespace_name;
    if (++population_[name] == 1) repopulated_.insert(name);
  }
  if (!writable(Resource::kPods).put_if_other(pod_json(pod, placed, *facts_, 0), version_ + 1)) {
    return false;
  }
  ++version_;
  return true;
}

bool Catalogue::hide(const std::string& uid) {
  const auto shown = pods_.extract(uid);
  if (shown.empty()) return false;
  const Shown& gone = shown.mapped();
  if (writable(Resource::kPods).remove(gone.namespace_name, gone.name, version_ + 1)) ++version_;
  const auto population = population_.find(gone.namespace_name);
  if (--population->second == 0) {
    population_.erase(population);
    repopulated_.insert(gone.namespace_name);
  }
  return true;
}

// Namespaces are those of the pods, and "default".
void Catalogue::follow_namespaces() {
  WatchLog& log = writable(Resource::kNamespaces);
  for (const std::string& name : std::exchange(repopulated_, {})) {
    const bool is_wanted = name == kDefaultNamespace || population_.contains(name);
    if (is_wanted == (log.find("", name) != nullptr)) continue;
    if (is_wanted) {
      log.put(namespace_json(name, facts_->started_at), ++version_);
    } else {
      log.remove("", name, ++version_);
    }
  }
}

std::vector<std::string> Catalogue::differences(const NodeState& node) const {
  std::vector<std::string> found;
  const WatchLog& pods = logs_.at(Resource::kPods);
  std::size_t there = 0;
  std::set<std::string> namespaces{std::string(kDefaultNamespace)};
  for (const auto& [uid, pod] : node.running.pods) {
    if (!is_there(pod)) continue;
    ++there;
    const Pod& own = pod.record.pod;
    namespaces.insert(own.namespace_name);
    const ObjectPtr shown = pods.find(own.namespace_name, own.name);
    if (!pods_.contains(uid) || shown == nullptr) {
      found.push_back(fmt::format("pod {} is not shown", display_name(own)));
    } else if (!is_unconfirmed(pod) &&
               !shown->is_same_but_version(
                   {Resource::kPods, pod_json(pod, node.placing.pods.at(uid), *facts_, 0), 0})) {
      found.push_back(fmt::format("pod {} is not shown as it is now", display_name(own)));
    }
  }
  if (pods.size() != there || pods_.size() != there) {
    found.push_back(fmt::format("{} pods are shown, there are {}", pods.size(), there));
  }
  const WatchLog& shown = logs_.at(Resource::kNamespaces);
  for (const std::string& name : namespaces) {
    if (shown.find("", name) == nullptr) {
      found.push_back(fmt::format("namespace {} is not shown", name));
    }
  }
  if (shown.size() != namespaces.size()) {
    found.push_back(
        fmt::format("{} namespaces are shown, there are {}", shown.size(), namespaces.size()));
  }
  return found;
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
