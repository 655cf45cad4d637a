// SPDX-License-Identifier: Apache-2.0
#include "runtime/pod_files.h"

#include <fmt/format.h>

#include "sys/directory.h"

namespace corehold {

std::string volume_path(const std::string& root, const std::string& uid,
                        const std::string& volume) {
  return fmt::format("{}/volumes/{}/{}", root, uid, volume);
}

std::string podinfo_path(const std::string& root, const std::string& uid,
                         const std::string& volume) {
  return fmt::format("{}/podinfo/{}/{}", root, uid, volume);
}

std::string log_path(const std::string& root, const std::string& uid, const std::string& container,
                     int attempt) {
  return fmt::format("{}/logs/{}/{}/{}.log", root, uid, container, attempt);
}

Result<void> make_volumes(const std::string& /*root*/, const Pod& /*pod*/) { return {}; }

Result<void> remove_pod_files(const std::string& root, const std::string& uid) {
  for (const char* kind : {"volumes", "podinfo", "logs"}) {
    TRY(remove_tree(fmt::format("{}/{}/{}", root, kind, uid)));
  }
  return {};
}

}  // namespace corehold
