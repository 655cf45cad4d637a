// SPDX-License-Identifier: Apache-2.0
#include "features/registry/feature.h"

#include <fmt/format.h>

#include "pod/feature_name.h"
#include "pod/json_field.h"

namespace corehold {
bool Feature::discover(const NodeConfiguration& node) const {
  return obstacles(*this, node).empty();
}

std::vector<std::string> obstacles(const Feature& feature, const NodeConfiguration& node) {
  std::vector<std::string> texts;
  for (const std::string& gate : feature.requirements.gates) {
    const auto found = node.gates.find(gate);
    if (found == node.gates.end() || !found->second) {
      texts.push_back(fmt::format("gate {} is off", gate));
    }
  }
  for (const auto& [key, wanted] : feature.requirements.static_config) {
    const auto found = node.static_config.find(key);
    if (found == node.static_config.end()) {
      texts.push_back(fmt::format("{} is not set, must be {}", key, wanted));
    } else if (found->second != wanted) {
      texts.push_back(fmt::format("{} is {}, must be {}", key, found->second, wanted));
    }
  }
  for (const std::string& name : feature.requirements.runtime_features) {
    if (!node.runtime_features.contains(name)) {
      texts.push_back(fmt::format("the runtime lacks {}", name));
    }
  }
  if (!feature.is_current(node.version)) {
    texts.push_back(fmt::format("version {} is past {}, the last with this feature",
                                node.version->str(), feature.max_version->str()));
  }
  return texts;
}

Result<void> check_feature_name(std::string_view name) {
  const std::string_view problem = feature_name_problem(name);
  if (problem.empty()) return {};
  return Error{Code::kInvalid, fmt::format("invalid feature name {}: {}", shown(name), problem)};
}

}  // namespace corehold
