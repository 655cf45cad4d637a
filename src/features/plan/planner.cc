// SPDX-License-Identifier: Apache-2.0
#include "features/plan/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/fleet.h"
#include "features/known_features.h"
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

// So many names as a line holds, and how many there are besides.
std::string some_of(const Names& names) {
  constexpr std::size_t kShown = 5;
  const Names first(names.begin(),
                    names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  const std::size_t left = names.size() - first.size();
  return fmt::format("{}{}", fmt::join(first, ", "),
                     left == 0 ? "" : fmt::format(" and {} more", left));
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
    if (!has_agent(node) && !kubernetes_version(node)) unversioned_.push_back(node.name);
    const NodeAfter now = node_after(registry_, node, {});
    TRY(now_.set(node.name, registry_.known(now.declared)));
    const NodeAfter then = node_after(registry_, node, change_of(changes_, node.name));
    for (const auto& unmet : then.unmet) unmet_[unmet].push_back(node.name);
    silences_.emplace(node.name, Silences{.now = now.silent, .then = then.silent});
    return then_.set(node.name, registry_.known(then.declared));
  }

  // When all nodes are there. Fails for a change of another node.
  Result<void> end_nodes() {
    for (const NodeChange& change : changes_) {
      if (change.node != "*" && !now_.declared(change.node)) {
        return Error{Code::kNotFound,
                     fmt::format("there is no node {} in the list", shown(change.node))};
      }
    }
    if (!unversioned_.empty()) {
      plan_.notes.push_back(fmt::format(
          "version unknown (status.nodeInfo.kubeletVersion): {}; counted as one that declares "
          "features",
          some_of(unversioned_)));
    }
    for (const auto& [unmet, nodes] : unmet_) {
      plan_.notes.push_back(fmt::format("{} would not be declared by {}: {}", unmet.first,
                                        some_of(nodes), unmet.second));
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
    if (now_.declared(planned.node)) {
      TRY(note_now(planned, required));
      TRY(note_then(planned, required));
    }
    plan_.pods.push_back(std::move(planned));
    return {};
  }

  FeaturePlan done() && {
    plan_.nodes = now_.size();
    return std::move(plan_);
  }

 private:
  // Why the node's kubelet asks no pod for features (declaring.h).
  struct Silences {
    std::optional<std::string> now{};
    std::optional<std::string> then{};
  };

  Result<NeedAnswer> answer_of(const Fleet& fleet, const FeatureSet& required) const {
    const Fleet::Answer found = TRY(fleet.answer(required));
    NeedAnswer answer{.fits = fleet.names(found.fitting)};
    for (const Fleet::Shortage& shortage : found.shortages) {
      answer.others.push_back({.features = TRY(registry_.names(shortage.missing)),
                               .nodes = fleet.names(shortage.nodes)});
    }
    return answer;
  }

  Result<FeatureNeed> need(const FeatureSet& required, const Names& features) const {
    FeatureNeed need{.features = features, .now = TRY(answer_of(now_, required))};
    if (changes_.empty()) return need;
    NeedAfter then{.answer = TRY(answer_of(then_, required))};
    then.gains = without(then.answer.fits, need.now.fits);
    then.losses = without(need.now.fits, then.answer.fits);
    need.then = std::move(then);
    return need;
  }

  // Of what is missing, what the node would refuse the pod for.
  Result<std::string> refused_for(const FeatureSet& missing) const {
    const Names names = TRY(registry_.names(asked_at_admission(registry_, missing)));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  Result<void> note_now(const PodPlan& pod, const FeatureSet& required) {
    const Match found = TRY(match(required, *now_.declared(pod.node)));
    const std::string asked = TRY(refused_for(found.missing));
    if (asked.empty()) return {};
    const auto& silent = silences_.at(pod.node).now;
    plan_.notes.push_back(
        silent ? fmt::format("pod {} is bound to {}, which has no {} and does not ask for it ({}): "
                             "the pod runs without it",
                             pod.pod, pod.node, asked, *silent)
               : fmt::format("pod {} is bound to {}, which does not declare {}: its kubelet "
                             "refuses it ({})",
                             pod.pod, pod.node, asked, kPodFeatureUnsupported));
    return {};
  }

  Result<void> note_then(const PodPlan& pod, const FeatureSet& required) {
    const Match before = TRY(match(required, *now_.declared(pod.node)));
    const Match after = TRY(match(required, *then_.declared(pod.node)));
    if (!before.fits || after.fits) return {};
    const std::string asked = TRY(refused_for(after.missing));
    const auto& silent = silences_.at(pod.node).then;
    if (!asked.empty() && !silent) {
      plan_.notes.push_back(fmt::format(
          "pod {} is bound to {}, which would no longer declare {}: its kubelet fails it when it "
          "starts again ({}); a failed pod stays failed, drain the node or recreate the pod",
          pod.pod, pod.node, asked, kPodFeatureUnsupported));
      return {};
    }
    plan_.notes.push_back(fmt::format(
        "pod {} is bound to {}, which would no longer declare {} and not ask for it{}: the pod "
        "keeps running; schedulers no longer choose the node",
        pod.pod, pod.node, fmt::join(TRY(registry_.names(after.missing)), ", "),
        silent ? fmt::format(" ({})", *silent) : ""));
    return {};
  }

  const Registry& registry_;
  std::span<const NodeChange> changes_;
  Fleet now_;
  Fleet then_;
  FeaturePlan plan_{};
  std::map<Names, std::size_t> needs_{};
  std::map<std::string, Silences> silences_{};  // by node
  Names unversioned_{};                         // nodes
  // Nodes that would not declare a feature, by feature and reason.
  std::map<std::pair<std::string, std::string>, Names> unmet_{};
};

}  // namespace

Result<FeaturePlan> plan_features(const Registry& registry, std::span<const Pod> pods,
                                  std::span<const FeatureNode> nodes,
                                  std::span<const NodeChange> changes, const Version& target) {
  Planning planning(registry, changes);
  for (const FeatureNode& node : nodes) TRY(planning.add(node));
  TRY(planning.end_nodes());
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
