// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <array>

namespace corehold {

std::string_view name_of(CpuManagerPolicy policy) {
  return policy == CpuManagerPolicy::kNone ? "none" : "static";
}

std::string_view name_of(MemoryManagerPolicy policy) {
  return policy == MemoryManagerPolicy::kNone ? "None" : "Static";
}

std::string_view name_of(RuntimeKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"process", "cri", "nri"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(CheckpointStyle style) {
  return style == CheckpointStyle::kCorehold ? "corehold" : "kubelet";
}

}  // namespace corehold
