// SPDX-License-Identifier: Apache-2.0
//
// What depends on several fields about memory.
#include <fmt/format.h>

#include "config/draft.h"
#include "config/reserved_memory.h"

namespace corehold {
namespace {

constexpr std::int64_t kDefaultEviction = 100LL << 20;

// No value: a share of the machine's memory.
std::optional<std::int64_t> eviction_bytes(const Eviction& eviction) {
  if (eviction.is_share) return std::nullopt;
  if (eviction.bytes) return eviction.bytes;
  return !eviction.is_given || eviction.keeps_default ? kDefaultEviction : 0;
}

std::string show(const Quantity& sum) {
  const auto bytes = sum.scaled(0);
  return bytes ? show_bytes(*bytes) : sum.str();
}

// A kubelet starts only when both ways to say how much memory the system keeps agree.
void check_sum(const Draft& draft, Reading& reading) {
  for (const char* field : {"reservedMemory", "kubeReserved", "systemReserved", "evictionHard",
                            "mergeDefaultEvictionSettings"}) {
    if (reading.is_wrong(field)) return;
  }
  const auto eviction = eviction_bytes(draft.eviction);
  Quantity reserved;
  for (const auto& [node, amounts] : draft.config.reserved_memory) {
    for (const auto& [resource, bytes] : amounts) {
      if (resource == "memory") {
        reserved = reserved + Quantity::of(bytes);
        continue;
      }
      reading.note(reserved_field(draft.config, node, resource, "limits." + resource),
                   "a kubelet does not start with huge pages here, as kubeReserved and "
                   "systemReserved have none; Corehold leaves them to the system");
    }
  }
  if (!eviction) return;
  const Quantity needed = Quantity::of(draft.kube_reserved.memory) +
                          Quantity::of(draft.system_reserved.memory) + Quantity::of(*eviction);
  if (reserved == needed) return;
  reading.mistake(
      "reservedMemory",
      fmt::format("the total amount \"{}\" of type \"memory\" is not equal to the value \"{}\" "
                  "determined by Node Allocatable feature: {} of kubeReserved, {} of "
                  "systemReserved and {} of evictionHard memory.available; change either",
                  show(reserved), show(needed), show_bytes(draft.kube_reserved.memory),
                  show_bytes(draft.system_reserved.memory), show_bytes(*eviction)));
}

}  // namespace

void check_memory(const Draft& draft, Reading& reading) {
  const Config& config = draft.config;
  const bool is_static = config.memory_manager_policy == MemoryManagerPolicy::kStatic;
  if (is_static && config.reserved_memory.empty() && !reading.is_wrong("reservedMemory")) {
    reading.mistake("memoryManagerPolicy",
                    "Static needs reservedMemory, the memory of each NUMA node that the system "
                    "keeps");
  }
  if (!is_static && !config.reserved_memory.empty() && !reading.is_wrong("memoryManagerPolicy")) {
    reading.note("reservedMemory", "without effect: memoryManagerPolicy is None");
  }
  if (!is_static || config.reserved_memory.empty()) return;
  check_sum(draft, reading);
  if (!config.memory || reading.is_wrong("memory")) return;
  for (const ConfigRemark& mistake :
       excess_reservations(config, config.reserved_memory, *config.memory)) {
    reading.mistake(mistake.field, mistake.message);
  }
}

}  // namespace corehold
