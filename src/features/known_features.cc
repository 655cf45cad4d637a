// SPDX-License-Identifier: Apache-2.0
#include "features/known_features.h"

#include <utility>
#include <vector>

#include "features/pod_questions.h"

namespace corehold {
namespace {

// A feature with the gate of its name.
Feature named(std::string_view name) {
  return {.name = std::string(name), .requirements = {.gates = {std::string(name)}}};
}

Feature needed_to_run(std::string_view name, bool (*question)(const Pod&)) {
  Feature feature = named(name);
  feature.infer_for_scheduling = question;
  return feature;
}

Feature needed_to_change(std::string_view name, bool (*question)(const Pod&, const Pod&)) {
  Feature feature = named(name);
  feature.infer_for_update = question;
  return feature;
}

Feature with_runtime(Feature feature, std::string_view runtime_feature) {
  feature.requirements.runtime_features.emplace_back(runtime_feature);
  return feature;
}

std::vector<Feature> kubernetes_features() {
  return {
      // Asked for by resource claims and by the API server itself, not by a pod's spec.
      named("DRANodeAllocatableResources"),
      named("DRAOptionalNodeOperations"),
      named("ExtendWebSocketsToKubelet"),
      needed_to_change("InPlacePodLevelResourcesVerticalScaling", changes_pod_level_resources),
      needed_to_change("InPlacePodVerticalScalingInitContainers", changes_init_container_resources),
      needed_to_change("InPlacePodVerticalScalingMemoryBackedVolumes", changes_memory_volume_size),
      needed_to_run("RestartAllContainersOnContainerExits", restarts_all_containers),
      with_runtime(
          needed_to_run("UserNamespacesHostNetworkSupport", has_user_namespace_on_host_network),
          kRuntimeUserNamespacesHostNetwork),
      with_runtime(needed_to_run("VolumeBindMountOptions", has_bind_mount_options),
                   kRuntimeMountOptions),
  };
}

std::vector<Feature> all_features() {
  std::vector<Feature> features = kubernetes_features();
  Feature exclusive_cpus = needed_to_change(kExclusiveCpusFeature, changes_exclusive_cpus);
  exclusive_cpus.requirements.static_config.emplace(kCpuManagerPolicyKey, "static");
  features.push_back(std::move(exclusive_cpus));
  features.push_back(needed_to_run(kAssignedResourcesFeature, asks_for_assigned_resources));
  return features;
}

}  // namespace

const Registry& kubernetes_registry() {
  static const Registry kRegistry = *Registry::of(kubernetes_features());
  return kRegistry;
}

const Registry& extension_registry() {
  static const Registry kRegistry = *Registry::of(all_features());
  return kRegistry;
}

bool is_corehold_feature(std::string_view name) {
  return name == kExclusiveCpusFeature || name == kAssignedResourcesFeature;
}

FeatureSet asked_at_admission(const Registry& registry, const FeatureSet& required) {
  FeatureSet asked = required;
  if (const auto assigned = registry.find(kAssignedResourcesFeature)) asked.erase(*assigned);
  return asked;
}

}  // namespace corehold
