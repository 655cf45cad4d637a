// SPDX-License-Identifier: Apache-2.0
#include "features/planner.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/fleet.h"
#include "features/match.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

using Names = std::vector<std::string>;

std::string bound_node(const Pod& pod) {
  const boost::json::value* spec = field(pod.raw, "spec");
  if (spec == nullptr || !spec->is_object()) return {};
  const boost::json::value* name = field(spec->get_object(), "nodeName");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : std::string();
}

Names without(const Names& from, const Names& names) {
  Names rest;
  std::ranges::set_difference(from, names, std::back_inserter(rest));
  return rest;
}

class Planning {
 public:
  Planning(const Registry& registry, std::span<const NodeChange> changes)
      : registry_(registry), changes_(changes), now_(registry), then_(registry) {}

  Result<void> add(const FeatureNode& node) {
    if (now_.declared(node.name)) {
      return Error{Code::kInvalid, fmt::format("node {} is in the list twice", node.name)};
    }
    for (const std::string& why : declared_names(node).dropped) {
      plan_.notes.push_back(fmt::format("node {}: {}; not counted", node.name, why));
    }
    TRY(now_.set(node.name, declared_set(registry_, node)));
    FeatureNode changed = node;
    for (const NodeChange& change : changes_) {
      if (change.node != "*" && change.node != node.name) continue;
      changed.declared_features = declared_after(registry_, changed, change);
      changed.annotations.erase(std::string(kDeclaredFeaturesAnnotation));
    }
    return then_.set(node.name, declared_set(registry_, changed));
  }

  Result<void> check_changes() const {
    for (const NodeChange& change : changes_) {
      if (change.node != "*" && !now_.declared(change.node)) {
        return Error{Code::kNotFound,
                     fmt::format("there is no node {} in the list", shown(change.node))};
      }
    }
    return {};
  }

  Result<void> add(const Pod& pod, const Version& target) {
    const FeatureSet required = TRY(registry_.infer_for_scheduling(pod, target));
    PodPlan planned{.pod = display_name(pod), .node = bound_node(pod)};
    const Names features = TRY(registry_.names(required));
    const auto [found, is_new] = needs_.emplace(features, plan_.needs.size());
    if (is_new) plan_.needs.push_back(TRY(need(required, features)));
    planned.need = found->second;
    TRY(note_bound(planned, required));
    plan_.pods.push_back(std::move(planned));
    return {};
  }

  FeaturePlan done() && {
    plan_.nodes = now_.size();
    return std::move(plan_);
  }

 private:
  Result<FeatureNeed> need(const FeatureSet& required, const Names& features) const {
    const Fleet::Answer answer = TRY(now_.answer(required));
    FeatureNeed need{.features = features, .fitting = answer.fitting_count};
    for (const Fleet::Shortage& shortage : answer.shortages) {
      need.others.push_back({.features = TRY(registry_.names(shortage.missing)),
                             .nodes = now_.names(shortage.nodes)});
    }
    if (changes_.empty()) return need;
    const NodeMask later = TRY(then_.fitting(required));
    const Names before = now_.names(answer.fitting);
    const Names after = then_.names(later);
    need.after = NeedAfter{.fitting = later.count(),
                           .gains = without(after, before),
                           .losses = without(before, after)};
    return need;
  }

  Result<void> note_bound(const PodPlan& pod, const FeatureSet& required) {
    const auto declared = now_.declared(pod.node);
    if (!declared) return {};
    const Match now = TRY(match(required, *declared));
    const Match then = TRY(match(required, *then_.declared(pod.node)));
    const bool is_changed = !changes_.empty();
    if (!now.fits && !is_changed) {
      plan_.notes.push_back(fmt::format(
          "pod {} is bound to {}, which does not declare {}: its kubelet refuses it ({})", pod.pod,
          pod.node, fmt::join(TRY(registry_.names(now.missing)), ", "), kPodFeatureUnsupported));
    }
    if (now.fits && !then.fits) {
      plan_.notes.push_back(fmt::format(
          "pod {} is bound to {}, which would no longer declare {}: its kubelet fails it when it "
          "starts again ({}); a failed pod stays failed, drain the node or recreate the pod",
          pod.pod, pod.node, fmt::join(TRY(registry_.names(then.missing)), ", "),
          kPodFeatureUnsupported));
    }
    return {};
  }

  const Registry& registry_;
  std::span<const NodeChange> changes_;
  Fleet now_;
  Fleet then_;
  FeaturePlan plan_{};
  std::map<Names, std::size_t> needs_{};
};

}  // namespace

Result<FeaturePlan> plan_features(const Registry& registry, std::span<const Pod> pods,
                                  std::span<const FeatureNode> nodes,
                                  std::span<const NodeChange> changes, const Version& target) {
  Planning planning(registry, changes);
  for (const FeatureNode& node : nodes) TRY(planning.add(node));
  TRY(planning.check_changes());
  for (const Pod& pod : pods) TRY(planning.add(pod, target));
  return std::move(planning).done();
}

std::string requirements_text(const Requirements& requirements) {
  Names parts;
  for (const std::string& gate : requirements.gates) parts.push_back("gate " + gate);
  for (const auto& [key, value] : requirements.static_config) {
    parts.push_back(fmt::format("{} {}", key, value));
  }
  for (const std::string& name : requirements.runtime_features) {
    parts.push_back("runtime feature " + name);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace corehold
