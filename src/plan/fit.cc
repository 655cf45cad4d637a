// SPDX-License-Identifier: Apache-2.0
#include "plan/fit.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace corehold {
namespace {

// How many of the largest parts it takes to hold `count`; all of them if none do.
int fewest_of(std::vector<int> sizes, int count) {
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  int used = 0;
  for (const int size : sizes) {
    if (count <= 0) break;
    count -= size;
    ++used;
  }
  return used;
}

template <typename Parts, typename CpusOf>
Spread spread_over(const Parts& parts, const CpusOf& cpus_of, const CpuSet& givable,
                   const CpuSet& cpus) {
  Spread spread;
  std::vector<int> sizes;
  sizes.reserve(parts.size());
  for (const auto& part : parts) {
    const CpuSet own = cpus_of(part);
    if (own.intersects(cpus)) ++spread.touched;
    sizes.push_back(own.count_common(givable));
  }
  spread.fewest = fewest_of(std::move(sizes), cpus.size());
  return spread;
}

CpuSet cpus_of_core(const Core& core) {
  CpuSet cpus;
  for (const CpuId cpu : core.cpus) cpus.insert(cpu);
  return cpus;
}

}  // namespace

Fit fit_of(const Topology& topology, const CpuSet& givable, const CpuSet& cpus) {
  const auto own = [](const auto& domain) { return domain.cpus; };
  Fit fit{.cores = spread_over(topology.cores(), cpus_of_core, givable, cpus),
          .caches = spread_over(topology.uncores(), own, givable, cpus),
          .nodes = spread_over(topology.nodes(), own, givable, cpus),
          .sockets = spread_over(topology.sockets(), own, givable, cpus)};
  fit.split_cores = fit.cores.touched - topology.count_whole_cores(cpus);
  return fit;
}

}  // namespace corehold
