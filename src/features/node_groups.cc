// SPDX-License-Identifier: Apache-2.0
#include "features/node_groups.h"

#include <utility>

#include "features/declaring.h"

namespace corehold {

Result<std::vector<GroupAnswer>> match_groups(const Registry& registry, const FeatureSet& required,
                                              std::span<const NodeGroup> groups) {
  const std::vector<std::string> needed = TRY(registry.names(required));
  std::vector<GroupAnswer> answers;
  for (const NodeGroup& group : groups) {
    GroupAnswer answer{.group = group.name};
    for (const std::string& name : needed) {
      const Feature& feature = registry.feature(*registry.find(name));
      std::vector<std::string> found = why_not_declared(feature, group.node);
      if (!found.empty()) answer.lacks.push_back({.feature = name, .obstacles = std::move(found)});
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace corehold
