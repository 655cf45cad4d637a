// SPDX-License-Identifier: Apache-2.0
//
// Pods, versions and sets of features for tests, from short texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "features/registry/registry.h"

namespace corehold {

// REQUIRES: each text is well-formed, each name registered.
Version version(std::string_view text);
// A pod whose spec is this JSON, named "p" in namespace "default".
Pod pod_with_spec(std::string_view spec);
FeatureSet features_of(const Registry& registry, const std::vector<std::string>& names);
// The names in a set, as one text: "A, B"; "" for none.
std::string text_of(const Registry& registry, const FeatureSet& set);

// A feature, and a pod that needs it to run.
inline const std::string kRestart = "RestartAllContainersOnContainerExits";
Pod restart_all_pod();
// A pod that asks for assigned.cpuset in a volume.
Pod assigned_cpus_pod();

}  // namespace corehold
