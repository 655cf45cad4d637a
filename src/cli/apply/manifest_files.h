// SPDX-License-Identifier: Apache-2.0
//
// Pods from the files that -f names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"

namespace CLI {
class App;
}

namespace corehold {

struct ManifestFiles {
  std::vector<std::string> files{};  // "-" is standard input
  std::string namespace_name{};      // of pods that name none; "": default
};

// All of them, in order and validated. Fails as read_file and read_manifest, with the file's
// name, and with kConflict for a pod that is in another namespace than the one given.
Result<std::vector<Pod>> read_manifests(const ManifestFiles& manifests);

}  // namespace corehold
