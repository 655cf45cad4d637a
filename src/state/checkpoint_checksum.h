// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's checkpoint checksum: 32-bit FNV-1a over a dump of the Go struct.
#pragma once

#include <cstdint>
#include <string_view>

#include "state/checkpoint_table.h"

namespace corehold {

inline constexpr std::uint32_t kFnvBasis = 2166136261U;

// 32-bit FNV-1a of `text`, going on from `hash`.
std::uint32_t fnv1a(std::string_view text, std::uint32_t hash = kFnvBasis);

// What is hashed. Tables that a version lacks are null; v1 has `by_id` for entries.
struct Preimage {
  std::string_view type_suffix{};  // after "CPUManagerCheckpoint"; usually nothing
  std::string_view policy{};
  std::string_view default_set{};
  const SetTable* entries = nullptr;
  const FlatTable* by_id = nullptr;
  const SetTable* promised = nullptr;
  const PodSetTable* pod_entries = nullptr;
};

std::uint32_t checksum_of(const Preimage& preimage);

// The checksum of v4's `data`.
std::uint32_t data_checksum_of(std::string_view data);

// Both checksums of v4. One FNV-1a waits for its own last step at every byte, so
// two at once cost no more than one.
struct ChecksumPair {
  std::uint32_t checksum = 0;
  std::uint32_t data_checksum = 0;
};
ChecksumPair checksums_of(const Preimage& preimage, std::string_view data);

}  // namespace corehold
