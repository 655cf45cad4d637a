// SPDX-License-Identifier: Apache-2.0
//
// The names under which a line may be skipped: where the kubelet's answer is an
// accident or a fault, and ours is run and found sound instead.
#pragma once

#include <string>
#include <string_view>

#include "state/invariants.h"

namespace corehold::vectors {

inline constexpr std::string_view kHang = "hang";
inline constexpr std::string_view kSliceAliasing = "slice aliasing";
inline constexpr std::string_view kIrregular = "irregular machine";
inline constexpr std::string_view kOptionPair = "option pair only the kubelet refuses";
inline constexpr std::string_view kPodLevel = "gate PodLevelResourceManagers";
inline constexpr std::string_view kOutside = "kubelet gives CPUs that are not available";

// For an expected state that breaks an invariant.
inline std::string broken(Invariant invariant) {
  return "kubelet leaves " + std::string(name_of(invariant));
}

}  // namespace corehold::vectors
