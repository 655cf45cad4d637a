// SPDX-License-Identifier: Apache-2.0
//
// Notices: what the placing half tells whatever runs the containers.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "pod/container_ref.h"

namespace corehold {

// The pod holds all that it needs, and that is durable.
struct PodAdmitted {
  std::string uid{};
};
// The pod is refused for good.
struct PodRefused {
  std::string uid{};
  std::string reason{};  // the kubelet's
  Error error{};
};
// The pod waits for room, and why.
struct PodWaits {
  std::string uid{};
  std::string message{};
};
// What the placing half keeps of the pod and a record of it must have (copy_placed()) has changed.
struct PlacedRecordChanged {
  std::string uid{};
};
// The container was resized, and its resizePolicy asks for a restart.
struct RestartWanted {
  ContainerRef container{};
};

using Notice = std::variant<PodAdmitted, PodRefused, PodWaits, PlacedRecordChanged, RestartWanted>;

}  // namespace corehold
