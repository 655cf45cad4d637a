// SPDX-License-Identifier: Apache-2.0
#include "api/patch/object_schema.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace corehold {
namespace {

struct FieldRow {
  std::string_view type;
  std::string_view field;
  FieldShape shape;
};

constexpr FieldShape of(std::string_view type) { return {.shape = Shape::kStruct, .type = type}; }
constexpr FieldShape map() { return {.shape = Shape::kMap}; }
// A list of objects of `type` that both kinds of patches merge, by one key.
constexpr FieldShape by(std::string_view key, std::string_view type) {
  return {.shape = Shape::kKeyedList,
          .type = type,
          .keys = key,
          .patch = ListPatch::kMerge,
          .merge_key = key};
}
// The same where an element has more keys than the one a strategic patch goes by.
constexpr FieldShape by(std::string_view merge_key, std::string_view keys, std::string_view type) {
  return {.shape = Shape::kKeyedList,
          .type = type,
          .keys = keys,
          .patch = ListPatch::kMerge,
          .merge_key = merge_key};
}
constexpr FieldShape set() { return {.shape = Shape::kSet, .patch = ListPatch::kMerge}; }
// Whole for its owner, but merged by a strategic patch.
constexpr FieldShape whole_by(std::string_view merge_key) {
  return {.patch = ListPatch::kMerge, .merge_key = merge_key};
}
// Key by key, or one by one, for its owners, but replaced by a strategic patch.
constexpr FieldShape owned_by(std::string_view key) {
  return {.shape = Shape::kKeyedList, .keys = key};
}
constexpr FieldShape owned_set() { return {.shape = Shape::kSet}; }

// Sorted by type and field: found by binary search.
constexpr auto kFieldRows = std::to_array<FieldRow>({
    {"Container", "env", by("name", "EnvVar")},
    {"Container", "lifecycle", of("Lifecycle")},
    {"Container", "livenessProbe", of("Probe")},
    {"Container", "ports", by("containerPort", "containerPort protocol", "ContainerPort")},
    {"Container", "readinessProbe", of("Probe")},
    {"Container", "resources", of("ResourceRequirements")},
    {"Container", "securityContext", of("SecurityContext")},
    {"Container", "startupProbe", of("Probe")},
    {"Container", "volumeDevices", by("devicePath", "VolumeDevice")},
    {"Container", "volumeMounts", by("mountPath", "VolumeMount")},
    {"EnvVar", "valueFrom", of("EnvVarSource")},
    {"EphemeralVolumeSource", "volumeClaimTemplate", of("VolumeClaimTemplate")},
    {"Event", "metadata", of("ObjectMeta")},
    {"Event", "series", of("EventSeries")},
    {"Event", "source", of("EventSource")},
    {"Lifecycle", "postStart", of("LifecycleHandler")},
    {"Lifecycle", "preStop", of("LifecycleHandler")},
    {"LifecycleHandler", "exec", of("ExecAction")},
    {"LifecycleHandler", "httpGet", of("HTTPGetAction")},
    {"LifecycleHandler", "sleep", of("SleepAction")},
    {"LifecycleHandler", "tcpSocket", of("TCPSocketAction")},
    {"Namespace", "metadata", of("ObjectMeta")},
    {"Namespace", "spec", of("NamespaceSpec")},
    {"Namespace", "status", of("NamespaceStatus")},
    {"NamespaceStatus", "conditions", by("type", "Condition")},
    {"Node", "metadata", of("ObjectMeta")},
    {"Node", "spec", of("NodeSpec")},
    {"Node", "status", of("NodeStatus")},
    {"NodeDaemonEndpoints", "kubeletEndpoint", of("DaemonEndpoint")},
    {"NodeSpec", "podCIDRs", set()},
    {"NodeStatus", "addresses", by("type", "NodeAddress")},
    {"NodeStatus", "allocatable", map()},
    {"NodeStatus", "capacity", map()},
    {"NodeStatus", "conditions", by("type", "Condition")},
    {"NodeStatus", "daemonEndpoints", of("NodeDaemonEndpoints")},
    {"NodeStatus", "features", of("NodeFeatures")},
    {"NodeStatus", "nodeInfo", of("NodeSystemInfo")},
    {"NodeSystemInfo", "swap", of("NodeSwapStatus")},
    {"ObjectMeta", "annotations", map()},
    {"ObjectMeta", "finalizers", set()},
    {"ObjectMeta", "labels", map()},
    {"ObjectMeta", "ownerReferences", by("uid", "")},
    {"PersistentVolumeClaimSpec", "resources", of("ResourceRequirements")},
    {"Pod", "metadata", of("ObjectMeta")},
    {"Pod", "spec", of("PodSpec")},
    {"Pod", "status", of("PodStatus")},
    {"PodSecurityContext", "appArmorProfile", of("Profile")},
    {"PodSecurityContext", "seLinuxOptions", of("SELinuxOptions")},
    {"PodSecurityContext", "seccompProfile", of("Profile")},
    {"PodSecurityContext", "windowsOptions", of("WindowsOptions")},
    {"PodSpec", "affinity", of("Affinity")},
    {"PodSpec", "containers", by("name", "Container")},
    {"PodSpec", "dnsConfig", of("PodDNSConfig")},
    {"PodSpec", "ephemeralContainers", by("name", "Container")},
    {"PodSpec", "hostAliases", by("ip", "HostAlias")},
    {"PodSpec", "imagePullSecrets", by("name", "")},
    {"PodSpec", "initContainers", by("name", "Container")},
    {"PodSpec", "os", of("PodOS")},
    {"PodSpec", "overhead", map()},
    {"PodSpec", "resourceClaims", by("name", "PodResourceClaim")},
    {"PodSpec", "resources", of("ResourceRequirements")},
    {"PodSpec", "schedulingGates", by("name", "PodSchedulingGate")},
    {"PodSpec", "securityContext", of("PodSecurityContext")},
    {"PodSpec", "topologySpreadConstraints",
     by("topologyKey", "topologyKey whenUnsatisfiable", "TopologySpreadConstraint")},
    {"PodSpec", "volumes", by("name", "Volume")},
    {"PodStatus", "allocatedResources", map()},
    {"PodStatus", "conditions", by("type", "Condition")},
    {"PodStatus", "hostIPs", whole_by("ip")},
    {"PodStatus", "podIPs", by("ip", "PodIP")},
    {"PodStatus", "resourceClaimStatuses", by("name", "PodResourceClaimStatus")},
    {"PodStatus", "resources", of("ResourceRequirements")},
    {"Probe", "exec", of("ExecAction")},
    {"Probe", "grpc", of("GRPCAction")},
    {"Probe", "httpGet", of("HTTPGetAction")},
    {"Probe", "tcpSocket", of("TCPSocketAction")},
    {"ResourceRequirements", "claims", owned_by("name")},
    {"ResourceRequirements", "limits", map()},
    {"ResourceRequirements", "requests", map()},
    {"SecurityContext", "appArmorProfile", of("Profile")},
    {"SecurityContext", "capabilities", of("Capabilities")},
    {"SecurityContext", "seLinuxOptions", of("SELinuxOptions")},
    {"SecurityContext", "seccompProfile", of("Profile")},
    {"SecurityContext", "windowsOptions", of("WindowsOptions")},
    {"Volume", "configMap", of("ConfigMapVolumeSource")},
    {"Volume", "csi", of("CSIVolumeSource")},
    {"Volume", "downwardAPI", of("DownwardAPIVolumeSource")},
    {"Volume", "emptyDir", of("EmptyDirVolumeSource")},
    {"Volume", "ephemeral", of("EphemeralVolumeSource")},
    {"Volume", "hostPath", of("HostPathVolumeSource")},
    {"Volume", "image", of("ImageVolumeSource")},
    {"Volume", "nfs", of("NFSVolumeSource")},
    {"Volume", "persistentVolumeClaim", of("PersistentVolumeClaimVolumeSource")},
    {"Volume", "projected", of("ProjectedVolumeSource")},
    {"Volume", "secret", of("SecretVolumeSource")},
    {"VolumeClaimTemplate", "metadata", of("ObjectMeta")},
    {"VolumeClaimTemplate", "spec", of("PersistentVolumeClaimSpec")},
    {"VolumeMount", "bindMountOptions", owned_set()},
});

constexpr bool before(const FieldRow& left, const FieldRow& right) {
  return std::tie(left.type, left.field) < std::tie(right.type, right.field);
}
static_assert(std::is_sorted(kFieldRows.begin(), kFieldRows.end(), before));

constexpr FieldShape kWhole{};

struct EmptyObject {
  std::string_view kind;
  std::string_view text;
};

// Fields that Kubernetes writes even when nothing was ever said about them.
constexpr auto kEmptyObjects = std::to_array<EmptyObject>({
    {"Pod", R"({"metadata":{},"spec":{"containers":null},"status":{}})"},
    {"Node",
     R"({"metadata":{},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},)"
     R"("nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"",)"
     R"("osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"",)"
     R"("operatingSystem":"","architecture":""}}})"},
    {"Event", R"({"metadata":{},"involvedObject":{},"source":{},"firstTimestamp":null,)"
              R"("lastTimestamp":null,"eventTime":null,"reportingComponent":"",)"
              R"("reportingInstance":""})"},
    {"Namespace", R"({"metadata":{},"spec":{},"status":{}})"},
});

}  // namespace

std::string_view type_of_kind(std::string_view kind) {
  const auto found = std::find_if(kEmptyObjects.begin(), kEmptyObjects.end(),
                                  [&](const EmptyObject& row) { return row.kind == kind; });
  return found == kEmptyObjects.end() ? std::string_view() : found->kind;
}

const FieldShape& field_shape(std::string_view type, std::string_view name) {
  const FieldRow wanted{.type = type, .field = name, .shape = {}};
  const auto* const found = std::lower_bound(kFieldRows.begin(), kFieldRows.end(), wanted, before);
  const bool is_there = found != kFieldRows.end() && found->type == type && found->field == name;
  return is_there ? found->shape : kWhole;
}

std::string_view default_of_key(std::string_view key) { return key == "protocol" ? "TCP" : ""; }

std::string_view empty_object_text(std::string_view kind) {
  const auto found = std::find_if(kEmptyObjects.begin(), kEmptyObjects.end(),
                                  [&](const EmptyObject& row) { return row.kind == kind; });
  return found == kEmptyObjects.end() ? "{}" : found->text;
}

}  // namespace corehold
