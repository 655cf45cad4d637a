// SPDX-License-Identifier: Apache-2.0
#include "runtime/container_cgroup.h"

#include <string_view>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::string_view kPods = "pods";
constexpr std::string_view kShared = "shared";

}  // namespace

std::string cgroup_of(const ContainerRef& container, ConfinedBy confined_by, CpuOwner owner) {
  std::string below = fmt::format("{}/{}", container.pod, container.container);
  if (confined_by != ConfinedBy::kCgroupV2) return below;
  return fmt::format("{}/{}", owner == CpuOwner::kSharedPool ? kShared : kPods, below);
}

std::string shared_parent_of(const std::string& cgroup, ConfinedBy confined_by) {
  const bool is_shared =
      confined_by == ConfinedBy::kCgroupV2 && cgroup.starts_with(fmt::format("{}/", kShared));
  return std::string(is_shared ? kShared : "");
}

}  // namespace corehold
