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

// Null when there is none.
PodState* find_pod(NodeState& node, const std::string& uid);
ContainerState* find_container(NodeState& node, const ContainerRef& ref);

// Whether the container is to run again after it has ended with this code.
bool restarts(const PodRecord& record, const Container& container, int code);

// An init container has failed and will not be tried again, so nothing else starts.
bool has_failed_init(const PodRecord& record);
// All containers but init containers and sidecars have ended for good.
bool have_apps_ended(const PodRecord& record);

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

// Where the container belongs by the checkpoint, less offline CPUs. No value: nowhere else
// than where it is, because cpusets are not touched or none of its CPUs is online.
std::optional<CpuSet> wanted_cpus(const ManagerRules& rules, const NodeState& node,
                                  const ContainerRef& ref);
std::optional<NodeSet> wanted_mems(const ManagerRules& rules, const NodeState& node,
                                   const ContainerRef& ref);

// cgroup v1 shares for a request, as the kubelet computes them.
int cpu_shares(const Container& container);
// Thousandths of a CPU; 0: none, as for everybody with CPUs of its own.
std::int64_t cpu_quota(const NodeState& node, const ContainerRef& ref, const Container& container);

// The nth delay of a series that doubles from `first` up to `most`; n counts from 1.
std::chrono::milliseconds doubled(std::chrono::milliseconds first, std::chrono::milliseconds most,
                                  int n);

// How long to wait before the store, the kernel or the file system is asked again after
// this many failures: a second, doubling to half a minute.
std::chrono::milliseconds retry_delay(int failures);

}  // namespace corehold
