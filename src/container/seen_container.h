// SPDX-License-Identifier: Apache-2.0
//
// SeenContainer: a container as its runtime sees it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "container/container_exit.h"
#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"
#include "pod/pod.h"

namespace corehold {

struct SeenContainer {
  ContainerRef container{};
  int attempt = 0;
  bool running = false;
  CpuSet cpus{};         // where the kernel lets a running container run now
  bool strayed = false;  // processes or threads of it were found outside its placement
  // What the kernel says of the partition that the CPUs are: "member" (none), "isolated",
  // "isolated invalid (...)"; no value: that cannot be asked.
  std::optional<std::string> partition{};
  std::chrono::milliseconds started_at{};  // since the Unix epoch; zero: not known
  std::optional<ContainerExit> exit{};     // of a container that does not run
  // The pod, as the runtime has kept it; null: it has not, or `pod_error` says why the pod
  // cannot be read. Shared, so that looking at 5,000 containers copies no pod.
  std::shared_ptr<const Pod> pod{};
  std::string pod_error{};
};

}  // namespace corehold
