// SPDX-License-Identifier: Apache-2.0
#include "policy/request.h"

#include <algorithm>

namespace corehold {

namespace {

std::vector<std::string> lasting_containers(const Pod& pod) {
  std::vector<std::string> names;
  for (const Container* container : in_starting_order(pod)) {
    if (container->kind != Container::Kind::kInit) names.push_back(container->name);
  }
  return names;
}

}  // namespace

Request request_of(const Pod& pod, const Container& container,
                   const std::optional<NodeSet>& affinity, const PodGates& gates) {
  // More CPUs than any machine has is as much as any larger number.
  const std::int64_t cpus = std::clamp<std::int64_t>(exclusive_cpus(pod, container, gates), 0,
                                                     std::numeric_limits<int>::max());
  return {.container = {.pod = pod.uid, .container = container.name},
          .kind = container.kind,
          .cpus = static_cast<int>(cpus),
          .affinity = affinity,
          .lasting = lasting_containers(pod),
          .partition = partition_of(pod.annotations)};
}

}  // namespace corehold
