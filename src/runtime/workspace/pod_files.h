// SPDX-License-Identifier: Apache-2.0
//
// What a pod has on disk under the agent's root:
//
//   volumes/<uid>/<volume>         emptyDir; a tmpfs with medium Memory
//   podinfo/<uid>/<volume>         downwardAPI (podinfo.h)
//   logs/<uid>/<container>/N.log   what attempt N wrote (log_file.h)
//   containers/<uid>/<container>   the runtime's own (container_directory.h)
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "pod/pod.h"
#include "runtime/monitor/launcher.h"

namespace corehold {

std::string volume_path(const std::string& root, const std::string& uid, const std::string& volume);
std::string podinfo_path(const std::string& root, const std::string& uid,
                         const std::string& volume);
std::string log_path(const std::string& root, const std::string& uid, const std::string& container,
                     int attempt);

// Makes the directories at the top, for the agent alone: what containers write and are told is
// private. A container sees its own by mounts, whatever user it runs as. Idempotent.
Result<void> make_private_tops(const std::string& root);

// Makes the pod's emptyDir volumes. Idempotent; to be called before a container of the pod is
// started. What is outside the root is not touched: the process that becomes the container looks
// at the hostPath volumes (host_path.h), so that a file system that hangs holds up nothing else.
Result<void> make_volumes(const std::string& root, const Pod& pod, const Launcher& launcher);

// Unmounts and removes what the pod has, except what the runtime keeps of containers.
// Idempotent.
Result<void> remove_pod_files(const std::string& root, const std::string& uid,
                              const Launcher& launcher);

// UIDs of the pods that have any files under the root, those of the runtime among them.
std::set<std::string> pods_with_files(const std::string& root);

}  // namespace corehold
