// SPDX-License-Identifier: Apache-2.0
#include "manager/urgency.h"

#include <tuple>

namespace corehold {

bool is_more_urgent(const PodRecord& one, const PodRecord& two, const PodGates& gates) {
  const auto rank = [&gates](const PodRecord& record) {
    return std::tuple(record.wish.has_value(), -std::int64_t{record.pod.priority.value_or(0)},
                      qos_class(record.pod, gates), record.wish ? record.wish->since : WallTime{},
                      record.sequence);
  };
  return rank(one) < rank(two);
}

}  // namespace corehold
