// SPDX-License-Identifier: Apache-2.0
//
// Feature: something that new nodes can do and old ones cannot, under a name that nodes
// declare (status.declaredFeatures). It knows when a node has it, which pods need it to
// be scheduled and which updates of a pod need it. Plain data and pure functions; a
// Registry (registry.h) holds the features that a component knows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "features/registry/version.h"
#include "pod/pod.h"

namespace corehold {

// Key of static configuration: the CPU manager's policy, "none" or "static".
inline constexpr std::string_view kCpuManagerPolicyKey = "cpuManagerPolicy";

// What a container runtime says of itself (CRI RuntimeFeatures).
inline constexpr std::string_view kRuntimeMountOptions = "MountOptions";
inline constexpr std::string_view kRuntimeUserNamespacesHostNetwork = "UserNamespacesHostNetwork";

// Everything about a node that decides what it declares. All of it is known before the
// node exists, so an autoscaler can ask with the configuration alone.
struct NodeConfiguration {
  // Absent: off; but for the gate of the mechanism itself, see declaring.h.
  std::map<std::string, bool, std::less<>> gates{};
  std::map<std::string, std::string, std::less<>> static_config{};
  std::set<std::string, std::less<>> runtime_features{};
  std::optional<Version> version{};  // of the node; none: newer than no feature's end
};

// What a node must have so that it declares a feature; all of it.
struct Requirements {
  std::vector<std::string> gates{};  // at least one
  std::map<std::string, std::string, std::less<>> static_config{};
  std::vector<std::string> runtime_features{};

  bool operator==(const Requirements&) const = default;
};

struct Feature {
  std::string name{};
  Requirements requirements{};
  // The last version, included, in which the feature is a question at all: newer nodes
  // do not declare it and newer components do not ask for it. None: no end.
  std::optional<Version> max_version{};
  // Whether the pod needs it on its node. Empty: no pod does.
  std::function<bool(const Pod& pod)> infer_for_scheduling{};
  // Whether changing a bound pod so needs it on the pod's node. Empty: no update does.
  std::function<bool(const Pod& old_pod, const Pod& new_pod)> infer_for_update{};

  // Whether it is still a question in this version.
  bool is_current(const std::optional<Version>& version) const {
    return !version || !max_version || *version <= *max_version;
  }

  // Whether a node of this configuration declares it: it is current, and every
  // requirement is met.
  bool discover(const NodeConfiguration& node) const;
};

// What keeps a node of this configuration from having the feature, one text each:
// "gate X is off", "cpuManagerPolicy is none, must be static", "the runtime lacks Y",
// "version 1.40.0 is past 1.39.0, the last with this feature". Empty: it has it, and
// declares it if it declares anything (declaring.h).
std::vector<std::string> obstacles(const Feature& feature, const NodeConfiguration& node);

// Fails with kInvalid and the API server's text for a name that no node may declare
// (pod/feature_name.h); a long name is cut in it.
Result<void> check_feature_name(std::string_view name);

}  // namespace corehold
