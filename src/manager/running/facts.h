// SPDX-License-Identifier: Apache-2.0
//
// Questions about the pods that this agent runs. They change nothing.
#pragma once

#include <string>
#include <vector>

#include "manager/running/running_state.h"
#include "pod/container_ref.h"

namespace corehold {

// Brought by `corehold run`, waiting or not.
bool is_run(Source source);

// Null when there is none.
RunPod* find_pod(RunningState& running, const std::string& uid);
const RunPod* find_pod(const RunningState& running, const std::string& uid);
RunContainer* find_container(RunningState& running, const ContainerRef& ref);

// Whether the container is to run again after it has ended with this code, by its rules or its
// policy.
bool restarts(const PodRecord& record, const Container& container, int code);

// An init container has failed and will not be tried again, so nothing else starts.
bool has_failed_init(const PodRecord& record);
// All containers but init containers and sidecars have ended for good.
bool have_apps_ended(const PodRecord& record);

// Nothing of the pod is to start any more and what runs is to stop.
bool is_stopping(const RunPod& pod);
// The runtime has no process of it.
bool is_quiet(const RunPod& pod);
// Both: it will never run again.
bool has_finished(const RunPod& pod);
// Once it has finished nothing is kept of it.
bool is_leaving(const RunPod& pod);

// The containers whose turn it is, running or not: the first init container that has not
// succeeded, else all; with them the sidecars before it.
std::vector<const Container*> whose_turn(const RunPod& pod);

// What is shown of a pod: "Pending", "Running", "Succeeded", "Failed".
std::string phase_of(const RunPod& pod);

}  // namespace corehold
