// SPDX-License-Identifier: Apache-2.0
#include "discover/numa_placement.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace corehold {
namespace {

Error in_two_nodes(const LocalNode& a, const LocalNode& b) {
  const LocalNode& one = a.id < b.id ? a : b;
  const LocalNode& other = a.id < b.id ? b : a;
  const CpuId cpu = (one.cpus & other.cpus).first();
  return Error{
      Code::kInvalid,
      fmt::format("CPU {} is in two NUMA nodes: node {} has CPUs {}, node {} has CPUs {}",
                  cpu.value, one.id.value, one.cpus.str(), other.id.value, other.cpus.str())};
}

bool nest(const CpuSet& one, const CpuSet& other) {
  return one.is_subset_of(other) || other.is_subset_of(one);
}

}  // namespace

LocalNode::Memory memory_named(std::string_view subtype) {
  const bool ordinary = subtype.empty() || subtype == "DRAM";
  return ordinary ? LocalNode::Memory::kOrdinary : LocalNode::Memory::kSpecial;
}

Result<NumaPlacement> place_in_nodes(const std::vector<LocalNode>& nodes) {
  NumaPlacement placement;
  NodeSet seen;
  std::vector<const LocalNode*> order;
  for (const LocalNode& node : nodes) {
    if (seen.contains(node.id)) {
      return Error{Code::kInvalid, fmt::format("NUMA node {} appears twice", node.id.value)};
    }
    seen.insert(node.id);
    order.push_back(&node);
  }
  std::stable_sort(order.begin(), order.end(), [](const LocalNode* a, const LocalNode* b) {
    return std::tuple(a->memory, a->cpus.size()) < std::tuple(b->memory, b->cpus.size());
  });

  CpuSet owned;
  std::vector<const LocalNode*> owners;
  for (const LocalNode* node : order) {
    for (const LocalNode* owner : owners) {
      const bool shares = owner->cpus.intersects(node->cpus);
      const bool covered = node->cpus.is_subset_of(owned);
      if (shares && !(covered && nest(owner->cpus, node->cpus))) return in_two_nodes(*owner, *node);
    }
    if (node->cpus.is_subset_of(owned)) {
      placement.memory_nodes.insert(node->id);
      continue;
    }
    for (const CpuId cpu : node->cpus) placement.node_of.emplace(cpu, node->id);
    owned |= node->cpus;
    owners.push_back(node);
  }
  return placement;
}

}  // namespace corehold
