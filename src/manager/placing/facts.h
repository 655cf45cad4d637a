// SPDX-License-Identifier: Apache-2.0
//
// Questions about placed pods and containers that several parts of the placing half ask. They
// change nothing.
#pragma once

#include <optional>
#include <string>

#include "manager/placing/placing_state.h"
#include "manager/rules.h"

namespace corehold {

// Where the container may be running apart from the pool.
CpuSet alone_on(const PlacedContainer& container);
// How the container counts in the occupancy.
Occupancy::Owner owner_of(const PlacingState& placing, const ContainerRef& ref);

// Null when there is none.
PlacedPod* find_pod(PlacingState& placing, const std::string& uid);
const PlacedPod* find_pod(const PlacingState& placing, const std::string& uid);
PlacedContainer* find_container(PlacingState& placing, const ContainerRef& ref);

// The admission or the resize of the pod waits for the checkpoint.
bool is_being_placed(const PlacingState& placing, const std::string& uid);

// The machine has no process of the pod.
bool is_quiet(const PlacedPod& pod);
inline bool is_stopping(const PlacedPod& pod) { return pod.course != Course::kStaying; }
inline bool is_admitted(const PlacedPod& pod) { return pod.standing == Standing::kAdmitted; }

// Every container that is entitled to CPUs of its own and may run again holds some.
bool has_all_cpus(const PlacingState& placing, const PlacedPod& pod);

// Where the containers without CPUs of their own belong: on the shared CPUs, less those that a
// container with CPUs of its own has still to leave. No value: nowhere else than where they are,
// because none of these CPUs is online.
std::optional<CpuSet> pool_target(const PlacingState& placing);

// Where the container belongs by the checkpoint, less offline CPUs and, once the container has been
// told, those that it loses in a resize. No value: nowhere else than where it is, because cpusets
// are not touched or none of its CPUs is online.
std::optional<CpuSet> wanted_cpus(const ManagerRules& rules, const PlacingState& placing,
                                  const ContainerRef& ref);
std::optional<NodeSet> wanted_mems(const ManagerRules& rules, const PlacingState& placing,
                                   const ContainerRef& ref);

// Where the runtime has confirmed the container to be.
CpuSet confirmed_cpus(const PlacingState& placing, const PlacedContainer& container);

// How much the container counts by what it was granted: shares as the kubelet computes them,
// no quota for a container with CPUs of its own.
Limits limits_of(const PlacingState& placing, const ContainerRef& ref, const Container& container);

// The CPUs that the container was put on by itself, so that no other was put there since.
CpuSet sole_cpus(const PlacedContainer& container);

// Whether every other container has confirmed to be elsewhere.
bool is_nobody_else_on(const PlacingState& placing, const ContainerRef& ref, const CpuSet& cpus);

// The container's part in the resize that is under way, if it is to lose CPUs in it; null: not.
const ContainerResize* shrink_of(const PlacedPod& pod, const std::string& container);

// Whether the container was told of this shrink, and its delay is over.
bool is_due(const PlacedContainer& state, const ContainerResize& shrink);

// What the container is to be told are its own CPUs: those that it will keep, and of those
// that it gets the ones it can run on already.
Assigned shown_cpus(const ManagerRules& rules, const PlacingState& placing, const ContainerRef& ref,
                    const PlacedPod& pod);
// Whether its files say so.
bool is_told(const ManagerRules& rules, const PlacingState& placing, const ContainerRef& ref,
             const PlacedPod& pod);

}  // namespace corehold
