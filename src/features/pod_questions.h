// SPDX-License-Identifier: Apache-2.0
//
// What features ask of a pod. Fields that the pod model does not know are looked up in
// the JSON the pod came from; fields of the wrong type count as absent, so no pod
// crashes a question. For known_features.cc.
#pragma once

#include "pod/pod.h"

namespace corehold {

// A container or init container has a restart rule with action RestartAllContainers.
bool restarts_all_containers(const Pod& pod);
// hostNetwork with a user namespace (hostUsers: false).
bool has_user_namespace_on_host_network(const Pod& pod);
// A container of any kind mounts a volume with bindMountOptions.
bool has_bind_mount_options(const Pod& pod);
// A downward API volume, projected ones too, asks for assigned.*.
bool asks_for_assigned_resources(const Pod& pod);

// Pod-level resources appear, go or change their amounts.
bool changes_pod_level_resources(const Pod& old_pod, const Pod& new_pod);
// The resources of an init container that is no sidecar change. As in the kubelet, a
// quantity spelled otherwise (1, 1000m) is a change; containers compare by position.
bool changes_init_container_resources(const Pod& old_pod, const Pod& new_pod);
// The size limit of a memory-backed volume that has one changes. A pod whose number of
// volumes differs is not compared: such an update is refused anyway.
bool changes_memory_volume_size(const Pod& old_pod, const Pod& new_pod);
// A container has another number of CPUs for itself than before.
bool changes_exclusive_cpus(const Pod& old_pod, const Pod& new_pod);

}  // namespace corehold
