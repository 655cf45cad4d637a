// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/occupancy.h"

#include <cstddef>

namespace corehold {
namespace {

std::size_t index_of(CpuId cpu) { return static_cast<std::size_t>(cpu.value); }

}  // namespace

void Occupancy::count(const Entry& entry, int by) {
  for (const CpuId cpu : entry.cpus) {
    const std::size_t index = index_of(cpu);
    if (index >= containers_.size()) {
      containers_.resize(index + 1);
      holders_.resize(index + 1);
    }
    containers_[index] += by;
    if (entry.owner == Owner::kOther) continue;
    holders_[index] += by;
    if (holders_[index] == 0) {
      of_holders_.erase(cpu);
    } else {
      of_holders_.insert(cpu);
    }
  }
}

void Occupancy::set(const ContainerRef& ref, const CpuSet& cpus, Owner owner) {
  const auto found = entries_.find(ref);
  if (found != entries_.end()) {
    if (found->second.cpus == cpus && found->second.owner == owner) return;
    count(found->second, -1);
    if (cpus.empty()) {
      entries_.erase(found);
      return;
    }
    found->second = {.cpus = cpus, .owner = owner};
    count(found->second, 1);
    return;
  }
  if (cpus.empty()) return;
  const Entry entry{.cpus = cpus, .owner = owner};
  count(entry, 1);
  entries_.emplace(ref, entry);
}

bool Occupancy::is_elsewhere_taken(const ContainerRef& ref, const CpuSet& cpus) const {
  const auto own = entries_.find(ref);
  for (const CpuId cpu : cpus) {
    const std::size_t index = index_of(cpu);
    if (index >= containers_.size()) continue;
    std::int32_t others = containers_[index];
    if (own != entries_.end() && own->second.cpus.contains(cpu)) --others;
    if (others > 0) return true;
  }
  return false;
}

}  // namespace corehold
