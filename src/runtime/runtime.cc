// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.h"

namespace corehold {

std::string_view name_of(ConfinedBy confined_by) {
  switch (confined_by) {
    case ConfinedBy::kCgroupV2:
      return "cgroup v2";
    case ConfinedBy::kCgroupV1:
      return "cgroup v1";
    case ConfinedBy::kAffinity:
      return "affinity";
    case ConfinedBy::kNothing:
      return "simulated";
  }
  check_failed("every ConfinedBy has a name", __FILE__, __LINE__);
}

}  // namespace corehold
