// SPDX-License-Identifier: Apache-2.0
//
// The part of a pod that the process runtime acts on (commands, environment, users, volumes),
// read from its JSON, with every mistake found on the way. For launch.cc, podinfo.cc and
// pod_files.cc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pod/pod.h"
#include "pod/quantity.h"

namespace corehold {

// A value that comes from the pod itself: a field of it, or an amount of a container's.
struct PodValue {
  std::string field{};      // "metadata.name"; "" for an amount
  std::string container{};  // whose amount
  std::string resource{};   // "limits.cpu", "assigned.cpuset"
  Quantity divisor = Quantity::of(1);

  // What only this node knows of a container.
  bool is_assigned() const { return resource.starts_with("assigned."); }
};

struct EnvironmentSpec {
  std::string name{};
  std::string value{};
  std::optional<PodValue> from{};  // instead of `value`
};

struct MountSpec {
  std::string volume{};
  std::string path{};
  std::string sub_path{};
  std::string sub_path_expression{};  // instead, with variables
  bool read_only = false;
};

struct PodInfoItem {
  std::string path{};  // below the volume
  PodValue value{};
  std::optional<mode_t> mode{};
};

struct VolumeSpec {
  enum class Kind { kHostPath, kEmptyDir, kDownwardApi };

  std::string name{};
  Kind kind = Kind::kEmptyDir;
  std::string host_path{};
  std::string host_type{};
  bool in_memory = false;
  std::optional<std::int64_t> size_limit{};
  std::vector<PodInfoItem> items{};
  mode_t mode = 0644;  // of the files of a downwardAPI volume
};

struct ContainerSpec {
  std::string name{};
  std::vector<std::string> command{};
  std::vector<std::string> arguments{};
  std::vector<EnvironmentSpec> environment{};
  std::string working_directory{};
  std::vector<MountSpec> mounts{};
  std::optional<uid_t> user{};
  std::optional<gid_t> group{};
  bool no_new_privileges = false;
};

struct PodSpec {
  std::vector<VolumeSpec> volumes{};
  std::vector<ContainerSpec> containers{};  // init containers first
  std::vector<gid_t> groups{};              // supplementalGroups and fsGroup
  std::optional<gid_t> volume_group{};      // fsGroup
  std::vector<std::string> mistakes{};      // "field path: what is wrong"

  // Null when there is none.
  const ContainerSpec* find(std::string_view container) const;
  const VolumeSpec* find_volume(std::string_view volume) const;
};

// The volume that the annotation corehold.dev/podinfo gives a container.
VolumeSpec assigned_volume(const std::string& container);

// Obeyed, the annotation corehold.dev/podinfo gives every container a volume of its own and its
// mount.
enum class PodInfoAnnotation { kObeyed, kIgnored };
PodSpec read_spec(const Pod& pod, PodInfoAnnotation annotation = PodInfoAnnotation::kObeyed);

}  // namespace corehold
