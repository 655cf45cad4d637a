// SPDX-License-Identifier: Apache-2.0
//
// From the body of a request to a pod that the manager may be given.
#pragma once

#include <string>
#include <string_view>

#include "api/run_message.h"
#include "base/result.h"
#include "pod/pod.h"
#include "sim/node_setup.h"

namespace corehold {

// Lower-case letters, digits and '-', at most 63; begins and ends with none of the latter.
bool is_dns_label(std::string_view text);
// Labels with dots between them, at most 253.
bool is_dns_subdomain(std::string_view text);

// The pod of a body, in this namespace and with the API's defaults; generateName is
// followed. Fails with kInvalid for what is no pod or says another namespace.
Result<Pod> read_new_pod(std::string_view body, const std::string& namespace_name);

// Gives it a UID. Fails with kInvalid, all mistakes in one message: those of validate(),
// what the process runtime cannot do, and names that are not as Kubernetes wants them:
// they become names of directories.
Result<void> accept_new_pod(Pod& pod);

// Fails with kInvalid for a pod that would be refused though nobody else were there.
Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup);

// What a pod of `corehold run` is called.
inline constexpr std::string_view kRunContainer = "main";
inline constexpr std::string_view kRunAnnotation = "corehold.dev/run";

// The pod that stands for a command: Guaranteed, with whole CPUs of its own.
Pod run_pod(const RunRequest& request);

}  // namespace corehold
