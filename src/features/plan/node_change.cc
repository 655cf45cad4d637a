// SPDX-License-Identifier: Apache-2.0
#include "features/plan/node_change.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/declaring.h"
#include "features/known_features.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

using Names = std::vector<std::string>;

Error refused(std::string_view text, std::string_view problem) {
  return Error{Code::kInvalid,
               fmt::format("{}: {}; it looks like worker-1=MyGate,OtherGate=false/1.37.0",
                           shown(text), problem)};
}

Result<void> read_gate(std::string_view text, std::string_view item, NodeChange& change) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? "true" : item.substr(equals + 1);
  if (!check_feature_name(name)) {
    const bool is_version = Version::parse(name).has_value();
    return refused(text, fmt::format("{} is no name of a gate{}", shown(name),
                                     is_version ? fmt::format("; a version comes after /: {}=/{}",
                                                              change.node, name)
                                                : ""));
  }
  if (value != "true" && value != "false") {
    return refused(text, fmt::format("gate {} is {}, must be true or false", name, shown(value)));
  }
  if (!change.gates.emplace(name, value == "true").second) {
    return refused(text, fmt::format("gate {} is given twice", name));
  }
  return {};
}

// No value: the change does not speak of the gate.
std::optional<bool> value_of(const NodeChange& change, std::string_view gate) {
  const auto found = change.gates.find(gate);
  if (found == change.gates.end()) return std::nullopt;
  return found->second;
}

// Whether a gate that the feature needs is turned on.
bool is_turned_on(const Feature& feature, const NodeChange& change) {
  return std::ranges::any_of(feature.requirements.gates, [&change](const std::string& gate) {
    return value_of(change, gate) == true;
  });
}

// The node's kubelet after the change, as far as the mechanism itself is concerned.
NodeConfiguration kubelet_after(const FeatureNode& node, const NodeChange& change) {
  NodeConfiguration kubelet{.version = kubernetes_version(node)};
  // It declares, though its version would not by default: the gate was turned on.
  const bool declares = !node.declared_features.empty();
  if (declares && silence(kubelet)) kubelet.gates.emplace(kNodeDeclaredFeaturesGate, true);
  // Or the version is not what it seems; what the node does says more.
  if (declares && silence(kubelet)) kubelet.version.reset();
  if (change.version) kubelet.version = change.version;
  if (const auto value = value_of(change, kNodeDeclaredFeaturesGate)) {
    kubelet.gates.insert_or_assign(std::string(kNodeDeclaredFeaturesGate), *value);
  }
  return kubelet;
}

// Whether it is for Corehold's agent to declare the feature there, not for the kubelet.
bool is_of_agent(const Feature& feature, const FeatureNode& node) {
  if (!has_agent(node)) return false;
  const Names named = annotated_features(node);
  return is_corehold_feature(feature.name) || std::ranges::find(named, feature.name) != named.end();
}

// The node after the change as one feature sees it. What nobody speaks of is as the feature
// needs it where the node declares it already, or a gate of it is turned on.
NodeConfiguration seen_by(const Feature& feature, const FeatureNode& node, const NodeChange& change,
                          const Names& before) {
  NodeConfiguration seen = kubelet_after(node, change);
  if (is_of_agent(feature, node)) seen.version.reset();
  const Requirements& needs = feature.requirements;
  const bool is_declared = std::ranges::binary_search(before, feature.name);
  const bool is_given = is_declared || is_turned_on(feature, change);
  for (const std::string& gate : needs.gates) {
    seen.gates.insert_or_assign(gate, value_of(change, gate).value_or(is_given));
  }
  seen.static_config = needs.static_config;
  const auto policy = seen.static_config.find(kCpuManagerPolicyKey);
  if (policy != seen.static_config.end() && !is_declared && !pins_cpus(node)) {
    policy->second = "none";
  }
  seen.runtime_features = {needs.runtime_features.begin(), needs.runtime_features.end()};
  return seen;
}

}  // namespace

Result<NodeChange> NodeChange::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return refused(text, "no = after the node");
  if (equals == 0) return refused(text, "no node before =");
  NodeChange change{.node = std::string(text.substr(0, equals))};
  std::string_view gates = text.substr(equals + 1);
  const std::size_t slash = gates.rfind('/');
  if (slash != std::string_view::npos) {
    auto version = Version::parse(gates.substr(slash + 1));
    if (!version) return refused(text, version.error().message);
    change.version = *version;
    gates = gates.substr(0, slash);
  }
  while (!gates.empty()) {
    const std::size_t comma = std::min(gates.find(','), gates.size());
    TRY(read_gate(text, gates.substr(0, comma), change));
    gates.remove_prefix(std::min(comma + 1, gates.size()));
  }
  if (change.is_empty()) return refused(text, "neither gates nor a version");
  return change;
}

NodeChange change_of(std::span<const NodeChange> changes, std::string_view node) {
  NodeChange whole{.node = std::string(node)};
  for (const NodeChange& change : changes) {
    if (change.node != "*" && change.node != node) continue;
    for (const auto& [gate, value] : change.gates) whole.gates.insert_or_assign(gate, value);
    if (change.version) whole.version = change.version;
  }
  return whole;
}

NodeAfter node_after(const Registry& registry, const FeatureNode& node, const NodeChange& change) {
  const NodeConfiguration kubelet = kubelet_after(node, change);
  const Names before = declared_names(node).names;
  NodeAfter after{.silent = silence(kubelet)};
  if (change.is_empty()) {
    after.declared = before;
    return after;
  }
  // What is not registered here goes only with all that the kubelet, or the agent, declares.
  const bool is_off = value_of(change, kNodeDeclaredFeaturesGate) == false;
  const Names annotated = annotated_features(node);
  std::ranges::copy_if(before, std::back_inserter(after.declared), [&](const std::string& name) {
    const bool is_annotated = std::ranges::find(annotated, name) != annotated.end();
    return !registry.find(name) && !(is_annotated ? is_off : after.silent.has_value());
  });
  for (const Feature& feature : registry.features()) {
    const Names why = why_not_declared(feature, seen_by(feature, node, change, before));
    if (why.empty()) {
      after.declared.push_back(feature.name);
    } else if (is_turned_on(feature, change)) {
      after.unmet.emplace_back(feature.name, fmt::format("{}", fmt::join(why, "; ")));
    }
  }
  std::ranges::sort(after.declared);
  return after;
}

}  // namespace corehold
