// SPDX-License-Identifier: Apache-2.0
//
// From the text of a file below staticPodPath to a pod that the manager may be given. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod/pod_rules.h"
#include "base/result.h"
#include "manager/node_state.h"
#include "pod/pod.h"

namespace corehold {

// Annotations of the kubelet's static and mirror pods, by which tools tell them.
inline constexpr std::string_view kConfigSource = "kubernetes.io/config.source";  // "file"
inline constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";
inline constexpr std::string_view kConfigMirror = "kubernetes.io/config.mirror";
inline constexpr std::string_view kConfigSeen = "kubernetes.io/config.seen";  // RFC 3339
// Ours: the file it was read from when it was made.
inline constexpr std::string_view kConfigFile = "corehold.dev/config.file";

struct StaticPodRules {
  std::string node_name{};
  PodRules pod_rules{};
};

// The pod of a file, YAML or JSON, with the API's defaults, called NAME-NODE. Its UID follows
// from what the pod says and the node's name alone: not from comments, the order of keys or the
// file's name, so that these may change while it runs. An UID in the file does not count.
//
// Fails with kInvalid for what is no single pod, or no pod that this node could run; the
// message begins with "PATH:LINE: ", or "PATH: " where no line is to blame. What is only strange,
// as a field that no pod has, is added to `warnings`.
Result<Pod> read_static_pod(std::string_view text, const std::string& path,
                            const StaticPodRules& rules, std::vector<std::string>& warnings);

// Whether the pod is a static pod. A static pod that was found running after the store was lost is
// known by the hash in its annotations, which equals its UID: a client that creates a pod cannot
// know the UID beforehand.
bool is_static_pod(const PodRecord& record);

// Why clients of the API may not delete or change the pod; no value: they may.
std::optional<std::string> static_pod_refusal(const PodRecord& record);

}  // namespace corehold
