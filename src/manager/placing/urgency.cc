// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/urgency.h"

#include <tuple>

namespace corehold {

bool is_more_urgent(const PlacedPod& one, const PlacedPod& two, const PodGates& gates) {
  const auto rank = [&gates](const PlacedPod& pod) {
    const auto& wish = pod.resize.wish;
    return std::tuple(wish.has_value(), -std::int64_t{pod.pod.priority.value_or(0)},
                      qos_class(pod.pod, gates), wish ? wish->since : WallTime{}, pod.sequence);
  };
  return rank(one) < rank(two);
}

}  // namespace corehold
