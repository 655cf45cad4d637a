// SPDX-License-Identifier: Apache-2.0
//
// Which families have a judge.
#include <map>

#include "family.h"

namespace corehold::vectors {

Judge judge_of(std::string_view family) {
  static const std::map<std::string_view, Judge> kJudges = {
      {"allocate", judge_allocate},
      {"checkpoint", judge_checkpoint},
      {"cpuset", judge_cpuset},
      {"declared_features", judge_declared_features},
      {"hints", judge_hints},
      {"merge", judge_merge},
      {"quantity_qos", judge_quantity_qos},
      {"static_policy", judge_static_policy},
  };
  const auto found = kJudges.find(family);
  return found == kJudges.end() ? nullptr : found->second;
}

}  // namespace corehold::vectors
