// SPDX-License-Identifier: Apache-2.0
//
// Widths: over how many sockets and NUMA nodes CPUs lie, and the least that any set of
// CPUs could, found by looking at every set of NUMA nodes. Only for tests.
#pragma once

#include <utility>

#include "alloc/resize.h"

namespace corehold {

class Widths {
 public:
  // Sockets where they come first (align-by-socket), else 0; then NUMA nodes. Less is better.
  using Width = std::pair<int, int>;

  // The topology must outlive it.
  Widths(const Topology& topology, const ResizeOptions& options);

  Width of(const NodeSet& nodes) const;
  // Of the sets of `count` CPUs that consist of `base` and some of `pool`.
  // REQUIRES: there is one; the machine has less than 32 NUMA nodes.
  Width least(const CpuSet& base, const CpuSet& pool, int count) const;
  // How many NUMA nodes `count` CPUs would need if all CPUs were free.
  int nodes_when_idle(int count) const;
  // Where whole cores of different sizes must add up, counts alone do not tell.
  bool depends_on_cores() const { return depends_on_cores_; }

 private:
  const Topology& topology_;
  bool by_socket_;
  bool depends_on_cores_;
};

}  // namespace corehold
