// SPDX-License-Identifier: Apache-2.0
//
// Ask: a question of a runtime that starts containers for somebody else (a kubelet), and does
// nothing before it has the answer. Grant: the answer, what the container gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "container/placement.h"
#include "pod/container_ref.h"
#include "pod/pod.h"

namespace corehold {

struct Ask {
  enum class Kind {
    kCreate,  // may the container be made, and where; granted once its CPUs are saved
    kStart,   // may its process run; granted once nothing else runs on its CPUs
    kResize,  // it is to have what `pod` says; granted once it has
    kStop,    // it is going to end; nothing is waited for
  };
  Kind kind = Kind::kCreate;
  ContainerRef container{};
  int attempt = 0;  // of running the container: higher than of every run before
  // The pod, complete and as it is wished for. Null: not known, which refuses the first question
  // about a pod, and every resize.
  std::shared_ptr<const Pod> pod{};
};

struct Grant {
  CpuSet cpus{};                  // empty: not confined
  std::optional<NodeSet> mems{};  // no value: memory is not pinned
  std::int64_t quota = 0;         // thousandths of a CPU; 0: none
  int cpu_shares = 2;

  bool operator==(const Grant&) const = default;
};

}  // namespace corehold
