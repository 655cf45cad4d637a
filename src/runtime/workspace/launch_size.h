// SPDX-License-Identifier: Apache-2.0
//
// How large that becomes which a pod makes of a few bytes by naming the same text many times:
// what a container is started with, and the files of downwardAPI volumes. Sizes are added up before
// anything of that size is made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/pod_spec.h"

namespace corehold {

// The command and the environment of a container, as execve(2) counts them: each string with the
// zero byte at its end and a pointer to it. The kernel takes a quarter of the limit for the stack,
// which is 8 MiB unless somebody has changed it.
inline constexpr std::size_t kMostLaunchBytes = std::size_t{2} << 20U;
// All containers of a pod together: they may start at the same time.
inline constexpr std::size_t kMostPodLaunchBytes = std::size_t{4} << 20U;
// The files of all downwardAPI volumes of a pod.
inline constexpr std::size_t kMostPodInfoBytes = std::size_t{8} << 20U;

// Of the command, the environment and the expanded paths in volumes. Fails with kInvalid for a
// string, a path or a sum that is too large, and names it.
Result<std::size_t> launch_size(const ContainerSpec& container, const Pod& pod,
                                const LaunchContext& context);

// What is too large in a pod whatever node it is on, as "field path: what is wrong": a little
// longer are names and amounts of the node, so that a start may still fail by launch_size().
// REQUIRES: `spec` is read from `pod` and without mistakes.
std::vector<std::string> size_mistakes(const PodSpec& spec, const Pod& pod);

// For a pod whose files have become larger than kMostPodInfoBytes.
Error too_much_podinfo();

}  // namespace corehold
