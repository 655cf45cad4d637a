// SPDX-License-Identifier: Apache-2.0
//
// From a pod to what the runtime starts: the command with its variables put in, the
// environment, user and groups, and the volumes at their places. Pure: files are made by
// pod_files.h and podinfo.h. The image of a container is not looked at: a container of the
// process runtime is a program of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"
#include "runtime/container_launch.h"
#include "runtime/workspace/pod_spec.h"

namespace corehold {

// What a launch needs to know besides the pod.
struct LaunchContext {
  std::string root{};           // the agent's directory; absolute
  std::string node_name{};      // spec.nodeName
  std::string node_address{};   // status.hostIP and status.podIP
  std::int64_t cpu_millis = 0;  // of the node: the limit of a container without one
  std::int64_t memory_bytes = 0;
  PodInfoAnnotation podinfo_annotation = PodInfoAnnotation::kObeyed;
};

// Everything in the pod that the process runtime cannot do, as "field path: what is
// wrong", in the order of the fields: no command, volumes of other kinds than hostPath,
// emptyDir and downwardAPI, envFrom, a mount without its volume, `assigned.*` in the
// environment, and what would become too large once its variables are put in (launch_size.h).
// Empty for a pod that can be started. For use when a pod is created.
std::vector<std::string> mistakes_of(const Pod& pod);

// The same, and the fields that would have no effect although somebody relies on them
// (unsupported_fields() of pod_fields.h). For use when a pod is created that is to run: a pod that
// was accepted once is started whatever this says.
std::vector<std::string> unrunnable_of(const Pod& pod);

// REQUIRES: mistakes_of(pod) is empty. The placement is left for the caller to fill in. Fails
// with kNotFound for a container the pod does not have, and with kInvalid when launch_size() does.
Result<Launch> make_launch(const Pod& pod, std::string_view container, int attempt,
                           const LaunchContext& context);

}  // namespace corehold
