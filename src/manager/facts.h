// SPDX-License-Identifier: Apache-2.0
//
// Questions about pods and containers that several parts of the manager ask. They
// change nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "manager/step.h"

namespace corehold {

// Brought by `corehold run`, waiting or not.
bool is_run(Source source);

// Its admission or its resize waits for the checkpoint.
bool is_being_placed(const NodeState& node, const std::string& uid);

// Null when there is none.
PodState* find_pod(NodeState& node, const std::string& uid);
ContainerState* find_container(NodeState& node, const ContainerRef& ref);

// Whether the container is to run again after it has ended with this code, by its rules or its
// policy.
bool restarts(const PodRecord& record, const Container& container, int code);

// An init container has failed and will not be tried again, so nothing else starts.
bool has_failed_init(const PodRecord& record);
// All containers but init containers and sidecars have ended for good.
bool have_apps_ended(const PodRecord& record);

// Every container that is entitled to CPUs of its own and may run again holds some.
bool has_all_cpus(const NodeState& node, const PodState& pod);

// Nothing of the pod is to start any more and what runs is to stop.
bool is_stopping(const PodState& pod);
// The runtime has no process of it.
bool is_quiet(const PodState& pod);
// Both: it will never run again.
bool has_finished(const PodState& pod);
// Once it has finished nothing is kept of it.
bool is_leaving(const PodState& pod);

// The containers whose turn it is, running or not: the first init container that has not
// succeeded, else all; with them the sidecars before it.
std::vector<const Container*> whose_turn(const PodState& pod);

// Where the container belongs by the checkpoint, less offline CPUs and, once it has been told,
// those that it loses in a resize. No value: nowhere else than where it is, because cpusets are
// not touched or none of its CPUs is online.
std::optional<CpuSet> wanted_cpus(const ManagerRules& rules, const NodeState& node,
                                  const ContainerRef& ref);
std::optional<NodeSet> wanted_mems(const ManagerRules& rules, const NodeState& node,
                                   const ContainerRef& ref);

// How much the container counts by what it was granted: shares as the kubelet computes them,
// no quota for everybody with CPUs of its own.
Terms terms_of(const NodeState& node, const ContainerRef& ref, const Container& container);

// Whether everybody but the container itself has confirmed to be elsewhere; those with CPUs of
// their own that have strayed there may be left out.
enum class Strays { kCount, kLeaveOut };
bool is_nobody_else_on(const NodeState& node, const ContainerRef& ref, const CpuSet& cpus,
                       Strays strays = Strays::kCount);

// The container's part in the resize that is under way, if it is to lose CPUs in it; null: not.
const ContainerResize* shrink_of(const PodState& pod, const std::string& container);

// Whether it was told of this shrink, and its delay is over.
bool is_due(const ContainerState& state, const ContainerResize& shrink);

// What the container is to be told are its own CPUs: those that it will keep, and of those
// that it gets the ones it can run on already.
AssignedCpus shown_cpus(const ManagerRules& rules, const NodeState& node, const ContainerRef& ref,
                        const PodState& pod);
// Whether its files say so.
bool is_told(const ManagerRules& rules, const NodeState& node, const ContainerRef& ref,
             const PodState& pod);

// The nth delay of a series that doubles from `first` up to `most`; n counts from 1.
std::chrono::milliseconds doubled(std::chrono::milliseconds first, std::chrono::milliseconds most,
                                  int n);

// How long to wait before the store, the kernel or the file system is asked again after
// this many failures: a second, doubling to half a minute.
std::chrono::milliseconds retry_delay(int failures);

}  // namespace corehold
