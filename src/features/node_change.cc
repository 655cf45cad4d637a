// SPDX-License-Identifier: Apache-2.0
#include "features/node_change.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pod/json_field.h"

namespace corehold {
namespace {

// The lowest that any 1.MINOR can be, alphas included.
Version first_of(int minor) { return *Version::parse(fmt::format("1.{}.0-0", minor)); }

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
    return refused(text, fmt::format("{} is no name of a gate", shown(name)));
  }
  if (value != "true" && value != "false") {
    return refused(text, fmt::format("gate {} is {}, must be true or false", name, shown(value)));
  }
  if (!change.gates.emplace(name, value == "true").second) {
    return refused(text, fmt::format("gate {} is given twice", name));
  }
  return {};
}

// Whether a node with these gates changed declares the feature.
bool declares(const Feature& feature, const FeatureNode& node, const NodeChange& change,
              const std::set<std::string>& before) {
  const auto value_of = [&change](const std::string& gate) -> std::optional<bool> {
    const auto found = change.gates.find(gate);
    if (found == change.gates.end()) return std::nullopt;
    return found->second;
  };
  const auto& gates = feature.requirements.gates;
  const auto is = [&value_of](bool wanted) {
    return [&value_of, wanted](const std::string& gate) { return value_of(gate) == wanted; };
  };
  if (!feature.is_current(change.version)) return false;
  if (std::ranges::any_of(gates, is(false))) return false;
  if (!std::ranges::any_of(gates, is(true))) return before.contains(feature.name);
  return !feature.requirements.static_config.contains(kCpuManagerPolicyKey) || pins_cpus(node);
}

}  // namespace

Result<NodeChange> NodeChange::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return refused(text, "no node before =");
  }
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
  if (change.gates.empty() && !change.version) return refused(text, "neither gates nor a version");
  return change;
}

std::vector<std::string> declared_after(const Registry& registry, const FeatureNode& node,
                                        const NodeChange& change) {
  const auto whole = change.gates.find(kNodeDeclaredFeaturesGate);
  const bool is_off = whole != change.gates.end() && !whole->second;
  const bool is_older = change.version && *change.version < first_of(35);
  if (is_off || is_older) return {};
  const std::vector<std::string> before = declared_names(node).names;
  std::set<std::string> names(before.begin(), before.end());
  for (const Feature& feature : registry.features()) {
    if (declares(feature, node, change, names)) {
      names.insert(feature.name);
    } else {
      names.erase(feature.name);
    }
  }
  return {names.begin(), names.end()};
}

std::optional<std::map<std::string, bool, std::less<>>> kubelet_default_gates(
    const Version& version) {
  if (version < first_of(37) || !(version < first_of(38))) return std::nullopt;
  return std::map<std::string, bool, std::less<>>{{"ExtendWebSocketsToKubelet", true},
                                                  {"InPlacePodLevelResourcesVerticalScaling", true},
                                                  {"InPlacePodVerticalScalingInitContainers", true},
                                                  {"RestartAllContainersOnContainerExits", true}};
}

}  // namespace corehold
