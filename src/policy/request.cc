// SPDX-License-Identifier: Apache-2.0
#include "policy/request.h"

#include <algorithm>

namespace corehold {

Request request_of(const Pod& pod, const Container& container,
                   const std::optional<NodeSet>& affinity, const PodGates& gates) {
  // More CPUs than any machine has is as much as any larger number.
  const std::int64_t cpus = std::clamp<std::int64_t>(exclusive_cpus(pod, container, gates), 0,
                                                     std::numeric_limits<int>::max());
  return {.container = {.pod = pod.uid, .container = container.name},
          .kind = container.kind,
          .cpus = static_cast<int>(cpus),
          .affinity = affinity};
}

}  // namespace corehold
