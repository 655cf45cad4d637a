// SPDX-License-Identifier: Apache-2.0
#include "isolation/change.h"

#include "base/check.h"
#include "cpuset/cpu_set.h"

namespace corehold {

std::string_view name_of(Target::Kind kind) {
  switch (kind) {
    case Target::Kind::kFile:
      return "file";
    case Target::Kind::kUnit:
      return "unit";
    case Target::Kind::kIrqBalance:
      return "irqbalance";
    case Target::Kind::kTask:
      return "task";
    case Target::Kind::kCpuset:
      return "cpuset";
    case Target::Kind::kMember:
      return "member";
  }
  check_failed("every kind of target has a name", __FILE__, __LINE__);
}

bool is_same_value(Compare compare, const std::string& one, const std::string& other) {
  if (one == other) return true;
  if (compare == Compare::kText) return false;
  const auto first = CpuSet::parse(one);
  const auto second = CpuSet::parse(other);
  return first && second && *first == *second;
}

}  // namespace corehold
