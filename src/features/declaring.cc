// SPDX-License-Identifier: Apache-2.0
#include "features/declaring.h"

#include <utility>

#include <fmt/format.h>

namespace corehold {
namespace {

// The lowest that any 1.MINOR can be, alphas included.
Version first_of(int minor) { return *Version::parse(fmt::format("1.{}.0-0", minor)); }

}  // namespace

std::optional<std::string> silence(const NodeConfiguration& node) {
  static const Version kFirst = first_of(35);
  static const Version kFirstByDefault = first_of(36);
  if (node.version && *node.version < kFirst) {
    return fmt::format("version {} is before 1.35, the first that declares features",
                       node.version->str());
  }
  const auto gate = node.gates.find(kNodeDeclaredFeaturesGate);
  if (gate != node.gates.end()) {
    if (gate->second) return std::nullopt;
    return fmt::format("gate {} is off", kNodeDeclaredFeaturesGate);
  }
  if (node.version && *node.version < kFirstByDefault) {
    return fmt::format("gate {} is off by default in 1.35", kNodeDeclaredFeaturesGate);
  }
  return std::nullopt;
}

std::vector<std::string> why_not_declared(const Feature& feature, const NodeConfiguration& node) {
  std::vector<std::string> why = obstacles(feature, node);
  if (auto silent = silence(node)) why.insert(why.begin(), *std::move(silent));
  return why;
}

FeatureSet would_declare(const Registry& registry, const NodeConfiguration& node) {
  return silence(node) ? registry.none() : registry.discover(node);
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
