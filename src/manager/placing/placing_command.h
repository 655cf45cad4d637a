// SPDX-License-Identifier: Apache-2.0
//
// What whatever runs the containers tells the placing half: the running half of this agent, or on
// behalf of a runtime of somebody else (manager/foreign).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "manager/placing/placing_state.h"

namespace corehold {

// There is a pod, and it needs CPUs, memory and devices.
struct ClaimPod {
  Pod pod{};  // with the resources that it has been granted
  std::uint64_t sequence = 0;
  std::uint64_t generation = 1;
  Patience patience = Patience::kWaits;
  bool obeys_cordon = false;
  // Of a pod that was there before this life of the agent.
  bool is_new = true;
  std::string waits_for{};
  std::optional<ResizeWish> wish{};
  WallTime resize_began_at{};
  std::map<std::string, Resources> actual{};  // by container
};
// The pod says something else of itself, and that is durable: labels, annotations.
struct AmendPod {
  Pod pod{};
  std::uint64_t generation = 1;
};
// The pod asks for other resources than it was granted; no value: it does not any more.
struct WishResize {
  std::string uid{};
  std::optional<ResizeWish> wish{};
  std::uint64_t generation = 1;
};
// How it stands with the pod.
struct SetCourse {
  std::string uid{};
  bool is_firm = false;
  Course course = Course::kStaying;
};
// Whether the container will run again.
struct SetDone {
  ContainerRef container{};
  bool is_done = false;
};
// The pod starts over and needs all its CPUs again.
struct ReclaimPod {
  std::string uid{};
};
// The pod has gone. REQUIRES: it holds nothing, and nothing of it runs.
struct DropPod {
  std::string uid{};
};
// The container runs where it was placed for its start.
struct ContainerPlaced {
  ContainerRef container{};
};
// The container does not run, or does not any more.
struct ContainerGone {
  ContainerRef container{};
};

}  // namespace corehold
