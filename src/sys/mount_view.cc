// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_view.h"

namespace corehold {

Result<void> enter_view(const std::vector<ViewMount>& /*mounts*/, const std::string& /*scratch*/) {
  return Error{Code::kUnsupported, "volumes are not supported yet"};
}

}  // namespace corehold
