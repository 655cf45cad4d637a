// SPDX-License-Identifier: Apache-2.0
//
// Pods as the API gives them: what was asked for, with metadata and status as a kubelet
// would report them. The agent says how far each container is in a PodView; the shape,
// the conditions and what else follows from that is worked out here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "container/container_exit.h"
#include "pod/pod.h"

namespace corehold {

// Times are milliseconds since the Unix epoch; zero: never, or not known.

struct ContainerView {
  enum class Stage { kWaiting, kRunning, kTerminated };

  std::string name{};
  Stage stage = Stage::kWaiting;
  std::string reason{};                    // of one that waits: "CrashLoopBackOff", ...
  std::string message{};                   // of one that waits
  std::chrono::milliseconds started_at{};  // of one that runs
  std::optional<ContainerExit> exit{};     // REQUIRES: there, when terminated
  std::optional<ContainerExit> last{};     // the run before the one that `stage` tells of
  int restarts = 0;
  int attempt = 0;
  int last_attempt = 0;  // the attempt that `last` tells of; `exit` is that of `attempt`
  // While a resize is not over: what it was granted, no value: what the pod asks for; and what
  // it runs with, no value: what it was granted.
  std::optional<Resources> granted{};
  std::optional<Resources> actual{};
};

// A resize that is not over, as a condition tells of it.
struct ResizeView {
  std::string reason{};   // "Deferred", "Infeasible" or "Error"; "" while it goes on
  std::string message{};  // the same for people
  std::chrono::milliseconds since{};
};

// Whether all containers of a pod are being restarted, because a rule of one asked for it.
struct RestartAllView {
  bool under_way = false;
  std::chrono::milliseconds since{};
};

struct PodView {
  const Pod& pod;  // with its UID; as it is to be, resized
  std::string phase{};
  std::string reason{};    // why it waits or has failed
  std::string message{};   // the same for people
  bool scheduled = false;  // it has been admitted, or has failed after that
  std::uint64_t resource_version = 0;
  std::uint64_t generation = 1;  // of the spec
  bool is_undecided = false;     // the last one asks for a resize, and nobody has looked at it
  std::chrono::milliseconds created_at{};
  std::chrono::milliseconds deleted_at{};          // when its deletion was asked for
  std::chrono::seconds grace{};                    // from then on
  std::chrono::milliseconds started_at{};          // when it was admitted
  std::string host{};                              // the node's name
  std::optional<ResizeView> resize_pending{};      // asked for, not granted
  std::optional<ResizeView> resize_in_progress{};  // granted, not carried out
  std::optional<RestartAllView> restart_all{};     // no value: no rule can ask for that
  // One for each container of the pod, in its order; those that are missing wait.
  std::vector<ContainerView> init_containers{};
  std::vector<ContainerView> containers{};
};

// The Pod. What the caller wrote is kept, unknown fields and all, but for metadata that is
// the node's to give and for status, which is replaced.
boost::json::object to_json(const PodView& view);

// A PodList of these Pods.
boost::json::object pod_list_json(boost::json::array pods, std::uint64_t resource_version);

// status.conditions: PodResizePending and PodResizeInProgress if there is a resize,
// PodScheduled, Initialized, ContainersReady, Ready, and AllContainersRestarting if a rule of a
// container can ask for that.
boost::json::array pod_conditions(const PodView& view);

// Whether a condition of that type is the node's own, be it there or not.
bool is_own_condition(std::string_view type);

}  // namespace corehold
