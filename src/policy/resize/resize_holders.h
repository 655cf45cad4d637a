// SPDX-License-Identifier: Apache-2.0
//
// OtherPods: who holds the CPUs that a resize would need. To place the resize is what costs,
// so that is only tried where numbers alone do not say that it cannot fit.
#pragma once

#include <string>
#include <vector>

#include "policy/resize/resize_placement.h"

namespace corehold {

class OtherPods {
 public:
  // All but the one with that UID. `shared`: what can be given with all of them there. The
  // referred must outlive it.
  OtherPods(const State& state, const CpuSet& shared, const std::string& uid)
      : state_(state), shared_(shared), uid_(uid) {}

  // What would be shared if they all left.
  CpuSet shared_without_all() const;

  // UIDs of those without which the resize fits, while with any one of them back it does not:
  // from those that hold CPUs of `near`, then from the others, and of both from those that
  // hold most, so that they are few. None: it would not fit even without all of them.
  // REQUIRES: it does not fit with all of them.
  std::vector<std::string> in_the_way(const ResizePlacement& placement, const CpuSet& near) const;

 private:
  const State& state_;
  const CpuSet& shared_;
  const std::string& uid_;
};

}  // namespace corehold
