// SPDX-License-Identifier: Apache-2.0
#include "config/reserved_memory.h"

#include <array>

#include <fmt/format.h>

namespace corehold {
namespace {

std::int64_t amount_of(const MemoryInventory& memory, NodeId node, const std::string& resource) {
  const auto amounts = memory.find(node);
  if (amounts == memory.end()) return 0;
  const auto amount = amounts->second.find(resource);
  return amount == amounts->second.end() ? 0 : amount->second;
}

}  // namespace

std::string show_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> kSuffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < kSuffixes.size()) {
    bytes /= 1024;
    ++power;
  }
  return fmt::format("{}{}", bytes, kSuffixes[power]);
}

std::string reserved_field(const Config& config, NodeId node, const std::string& resource,
                           std::string_view inner) {
  const auto& places = config.places.reserved_memory;
  const auto of_node = places.find(node);
  if (of_node == places.end()) return "reservedMemory";
  const auto place = of_node->second.find(resource);
  if (place == of_node->second.end()) return "reservedMemory";
  return fmt::format("{}.{}", place->second, inner);
}

std::vector<ConfigRemark> excess_reservations(const Config& config, const MemoryInventory& reserved,
                                              const MemoryInventory& total) {
  std::vector<ConfigRemark> mistakes;
  for (const auto& [node, amounts] : reserved) {
    for (const auto& [resource, bytes] : amounts) {
      const std::int64_t there = amount_of(total, node, resource);
      if (bytes <= there) continue;
      mistakes.push_back(
          {.field = reserved_field(config, node, resource, "limits." + resource),
           .message = fmt::format("cannot reserve {} of {} on NUMA node {}, which has {}",
                                  show_bytes(bytes), resource, node.value, show_bytes(there))});
    }
  }
  return mistakes;
}

}  // namespace corehold
