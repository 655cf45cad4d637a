// SPDX-License-Identifier: Apache-2.0
//
// Which families have a judge. The build defines COREHOLD_HAS_<FAMILY> for each
// family whose source file is there.
#include <map>

#include "family.h"

namespace corehold::vectors {

Judge judge_of(std::string_view family) {
  static const std::map<std::string_view, Judge> kJudges = {
      {"cpuset", judge_cpuset},
#ifdef COREHOLD_HAS_ALLOCATE
      {"allocate", judge_allocate},
#endif
#ifdef COREHOLD_HAS_STATIC_POLICY
      {"static_policy", judge_static_policy},
#endif
#ifdef COREHOLD_HAS_CHECKPOINT
      {"checkpoint", judge_checkpoint},
#endif
#ifdef COREHOLD_HAS_QUANTITY_QOS
      {"quantity_qos", judge_quantity_qos},
#endif
  };
  const auto found = kJudges.find(family);
  return found == kJudges.end() ? nullptr : found->second;
}

}  // namespace corehold::vectors
