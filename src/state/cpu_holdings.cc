// SPDX-License-Identifier: Apache-2.0
#include "state/cpu_holdings.h"

#include <utility>

#include "base/check.h"

namespace corehold {

CpuHoldings::CpuHoldings(std::initializer_list<value_type> pods) {
  for (const auto& [pod, holdings] : pods) set(pod, holdings);
}

const Holding* CpuHoldings::find(std::string_view pod, std::string_view container) const {
  const auto containers = pods_.find(pod);
  if (containers == pods_.end()) return nullptr;
  const auto holding = containers->second.find(container);
  return holding == containers->second.end() ? nullptr : &holding->second;
}

const PodHoldings& CpuHoldings::at(std::string_view pod) const {
  const auto found = pods_.find(pod);
  CHECK(found != pods_.end());
  return found->second;
}

void CpuHoldings::set(std::string_view pod, std::string_view container, const Holding& holding) {
  auto containers = pods_.find(pod);
  if (containers == pods_.end()) containers = pods_.emplace(pod, PodHoldings{}).first;
  const auto found = containers->second.find(container);
  if (found == containers->second.end()) {
    containers->second.emplace(container, holding);
    ++containers_;
    count(holding.assigned);
    return;
  }
  if (found->second.assigned != holding.assigned) {
    discount(found->second.assigned);
    count(holding.assigned);
  }
  found->second = holding;
}

void CpuHoldings::set(std::string_view pod, PodHoldings holdings) {
  auto containers = pods_.find(pod);
  if (containers == pods_.end()) containers = pods_.emplace(pod, PodHoldings{}).first;
  discount(containers->second);
  containers->second = std::move(holdings);
  count(containers->second);
}

void CpuHoldings::erase(std::string_view pod, std::string_view container) {
  const auto containers = pods_.find(pod);
  if (containers == pods_.end()) return;
  const auto found = containers->second.find(container);
  if (found != containers->second.end()) {
    discount(found->second.assigned);
    containers->second.erase(found);
    --containers_;
  }
  if (containers->second.empty()) pods_.erase(containers);
}

void CpuHoldings::erase(std::string_view pod) {
  const auto containers = pods_.find(pod);
  if (containers == pods_.end()) return;
  discount(containers->second);
  pods_.erase(containers);
}

void CpuHoldings::count(const PodHoldings& holdings) {
  for (const auto& [name, holding] : holdings) count(holding.assigned);
  containers_ += holdings.size();
}

void CpuHoldings::discount(const PodHoldings& holdings) {
  for (const auto& [name, holding] : holdings) discount(holding.assigned);
  containers_ -= holdings.size();
}

void CpuHoldings::count(const CpuSet& assigned) {
  const CpuSet again = assigned & held_;
  for (const CpuId cpu : again) ++further_[cpu];
  several_ |= again;
  held_ |= assigned;
}

void CpuHoldings::discount(const CpuSet& assigned) {
  const CpuSet still_held = assigned & several_;
  for (const CpuId cpu : still_held) {
    const auto further = further_.find(cpu);
    if (--further->second > 0) continue;
    further_.erase(further);
    several_.erase(cpu);
  }
  held_ -= assigned - still_held;
}

}  // namespace corehold
