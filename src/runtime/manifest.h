// SPDX-License-Identifier: Apache-2.0
//
// The manifest: the text in which a runtime keeps the pod of a container, so that an agent
// without a store knows again what runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "container/seen_container.h"
#include "pod/pod.h"

namespace corehold {

struct KeptPod {
  std::shared_ptr<const Pod> pod{};  // shared with each list of the containers; null: none
  std::string error{};               // why there is none though there is a text

  void show(SeenContainer& seen) const {
    seen.pod = pod;
    seen.pod_error = error;
  }
};

// An empty text is no pod, and no error.
KeptPod read_kept_pod(std::string_view text);

}  // namespace corehold
