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
      strays_.resize(index + 1);
    }
    containers_[index] += by;
    if (entry.place == Place::kStray) strays_[index] += by;
  }
}

void Occupancy::set(const ContainerRef& ref, const CpuSet& cpus, Place place) {
  const auto found = entries_.find(ref);
  if (found != entries_.end()) {
    if (found->second.cpus == cpus && found->second.place == place) return;
    count(found->second, -1);
    if (cpus.empty()) {
      entries_.erase(found);
      return;
    }
    found->second = {.cpus = cpus, .place = place};
    count(found->second, 1);
    return;
  }
  if (cpus.empty()) return;
  const Entry entry{.cpus = cpus, .place = place};
  count(entry, 1);
  entries_.emplace(ref, entry);
}

bool Occupancy::is_elsewhere_taken(const ContainerRef& ref, const CpuSet& cpus,
                                   Strays strays) const {
  const auto own = entries_.find(ref);
  for (const CpuId cpu : cpus) {
    const std::size_t index = index_of(cpu);
    if (index >= containers_.size()) continue;
    std::int32_t others = containers_[index];
    if (strays == Strays::kLeaveOut) others -= strays_[index];
    if (own != entries_.end() && own->second.cpus.contains(cpu)) {
      const bool is_left_out = strays == Strays::kLeaveOut && own->second.place == Place::kStray;
      if (!is_left_out) --others;
    }
    if (others > 0) return true;
  }
  return false;
}

}  // namespace corehold
