// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/pod_fields.h"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/quantity.h"
#include "runtime/workspace/mistake_list.h"

namespace corehold {
namespace {

namespace json = boost::json;
using enum FieldUse;

constexpr std::string_view kOnlyAProcess =
    "a container is a process of the machine; leave the field out";
constexpr std::string_view kNoSource =
    "there are no config maps, secrets and claims here; use hostPath, emptyDir or downwardAPI";
constexpr std::string_view kMachineNames =
    "a container uses the names and resolver of the machine; set them up there";
constexpr std::string_view kNobodyLifts =
    "nobody would ever meet the condition on a single node; leave the field out";

constexpr auto kPodFields = std::to_array<PodField>({
    {.type = "PodSpec", .name = "volumes", .inner = "Volume"},
    {.type = "PodSpec", .name = "initContainers", .inner = "Container"},
    {.type = "PodSpec", .name = "containers", .inner = "Container"},
    {"PodSpec", "ephemeralContainers", kRefused, "", "", "there is no exec; leave the field out"},
    {"PodSpec", "restartPolicy"},
    {"PodSpec", "terminationGracePeriodSeconds"},
    {"PodSpec", "activeDeadlineSeconds", kRefused, "", "",
     "nothing would end the pod; limit the time in the command, as in [timeout, 60s, PROGRAM]"},
    {"PodSpec", "dnsPolicy", kWithoutEffect},
    {"PodSpec", "nodeSelector", kWithoutEffect},
    {"PodSpec", "serviceAccountName", kWithoutEffect},
    {"PodSpec", "serviceAccount", kWithoutEffect},
    {"PodSpec", "automountServiceAccountToken", kWithoutEffect},
    {"PodSpec", "nodeName"},
    {"PodSpec", "hostNetwork", kWithoutEffect},
    {"PodSpec", "hostPID", kWithoutEffect},
    {"PodSpec", "hostIPC", kWithoutEffect},
    {"PodSpec", "shareProcessNamespace", kWithoutEffect},
    {.type = "PodSpec", .name = "securityContext", .inner = "PodSecurityContext"},
    {"PodSpec", "imagePullSecrets", kWithoutEffect},
    {"PodSpec", "hostname", kWithoutEffect},
    {"PodSpec", "subdomain", kWithoutEffect},
    {"PodSpec", "affinity", kWithoutEffect},
    {"PodSpec", "schedulerName", kWithoutEffect},
    {"PodSpec", "tolerations", kWithoutEffect},
    {"PodSpec", "hostAliases", kRefused, "", "", kMachineNames},
    {"PodSpec", "priorityClassName", kWithoutEffect},
    {"PodSpec", "priority", kWithoutEffect},
    {"PodSpec", "dnsConfig", kRefused, "", "", kMachineNames},
    {"PodSpec", "readinessGates", kRefused, "", "", kNobodyLifts},
    {"PodSpec", "runtimeClassName", kRefused, "", "",
     "there is one runtime, without a sandbox; leave the field out"},
    {"PodSpec", "enableServiceLinks", kWithoutEffect},
    {"PodSpec", "preemptionPolicy", kWithoutEffect},
    {"PodSpec", "overhead", kRefused, "", "", "there are no runtime classes; leave the field out"},
    {"PodSpec", "topologySpreadConstraints", kWithoutEffect},
    {"PodSpec", "setHostnameAsFQDN", kWithoutEffect},
    {.type = "PodSpec", .name = "os", .inner = "PodOS"},
    {"PodSpec", "hostUsers", kRefused, "", "true",
     "a container has the users of the machine, root included; leave the field out and set "
     "securityContext.runAsUser"},
    {"PodSpec", "schedulingGates", kRefused, "", "", kNobodyLifts},
    {"PodSpec", "resourceClaims", kRefused, "", "",
     "there are no claims; ask for devices in resources.limits"},
    {"PodSpec", "resources", kRefused, "", "",
     "amounts of the whole pod are not enforced; say them of each container"},
    {"PodSpec", "hostnameOverride", kWithoutEffect},
    {"PodSpec", "workloadRef", kWithoutEffect},
    {"PodSpec", "schedulingGroup", kWithoutEffect},

    {"PodOS", "name", kRefused, "", "linux", "the node runs linux"},

    {"PodSecurityContext", "seLinuxOptions", kRefused, "", "", kOnlyAProcess},
    {"PodSecurityContext", "windowsOptions", kRefused, "", "", "the node runs linux"},
    {"PodSecurityContext", "runAsUser"},
    {"PodSecurityContext", "runAsGroup"},
    {"PodSecurityContext", "runAsNonRoot"},
    {"PodSecurityContext", "supplementalGroups"},
    {"PodSecurityContext", "supplementalGroupsPolicy", kWithoutEffect},
    {"PodSecurityContext", "fsGroup"},
    {"PodSecurityContext", "sysctls", kRefused, "", "",
     "they would be set for the whole machine; set them there"},
    {"PodSecurityContext", "fsGroupChangePolicy", kWithoutEffect},
    {.type = "PodSecurityContext", .name = "seccompProfile", .inner = "SeccompProfile"},
    {.type = "PodSecurityContext", .name = "appArmorProfile", .inner = "AppArmorProfile"},
    {"PodSecurityContext", "seLinuxChangePolicy", kWithoutEffect},

    {"SeccompProfile", "type", kRefused, "", "Unconfined", kOnlyAProcess},
    {"SeccompProfile", "localhostProfile", kRefused, "", "", kOnlyAProcess},
    {"AppArmorProfile", "type", kRefused, "", "Unconfined", kOnlyAProcess},
    {"AppArmorProfile", "localhostProfile", kRefused, "", "", kOnlyAProcess},

    {"Container", "name"},
    {"Container", "image", kWithoutEffect},
    {"Container", "command"},
    {"Container", "args"},
    {"Container", "workingDir"},
    {"Container", "ports", kWithoutEffect},
    {"Container", "envFrom", kRefused, "", "",
     "there are no config maps and secrets here; use env"},
    {.type = "Container", .name = "env", .inner = "EnvVar"},
    {.type = "Container", .name = "resources", .inner = "ResourceRequirements"},
    {.type = "Container", .name = "resizePolicy", .inner = "ContainerResizePolicy"},
    {"Container", "restartPolicy"},
    {.type = "Container", .name = "restartPolicyRules", .inner = "ContainerRestartRule"},
    {.type = "Container", .name = "volumeMounts", .inner = "VolumeMount"},
    {"Container", "volumeDevices", kRefused, "", "",
     "there are no block volumes; use a hostPath volume of type BlockDevice"},
    {"Container", "livenessProbe", kWithoutEffect},
    {"Container", "readinessProbe", kWithoutEffect},
    {"Container", "startupProbe", kWithoutEffect},
    {.type = "Container", .name = "lifecycle", .inner = "Lifecycle"},
    {"Container", "terminationMessagePath", kWithoutEffect},
    {"Container", "terminationMessagePolicy", kWithoutEffect},
    {"Container", "imagePullPolicy", kWithoutEffect},
    {.type = "Container", .name = "securityContext", .inner = "SecurityContext"},
    {"Container", "stdin", kWithoutEffect},
    {"Container", "stdinOnce", kWithoutEffect},
    {"Container", "tty", kWithoutEffect},

    {"Lifecycle", "postStart", kRefused, "", "",
     "nothing would run it; do it in the command of the container"},
    {"Lifecycle", "preStop", kRefused, "", "",
     "nothing would run it; let the program do it when it gets SIGTERM"},
    {"Lifecycle", "stopSignal", kRefused, "", "SIGTERM", "a container is told by SIGTERM to end"},

    {"SecurityContext", "capabilities", kRefused, "", "", kOnlyAProcess},
    {"SecurityContext", "privileged", kWithoutEffect},
    {"SecurityContext", "seLinuxOptions", kRefused, "", "", kOnlyAProcess},
    {"SecurityContext", "windowsOptions", kRefused, "", "", "the node runs linux"},
    {"SecurityContext", "runAsUser"},
    {"SecurityContext", "runAsGroup"},
    {"SecurityContext", "runAsNonRoot"},
    {"SecurityContext", "readOnlyRootFilesystem", kRefused, "", "", kOnlyAProcess},
    {"SecurityContext", "allowPrivilegeEscalation"},
    {"SecurityContext", "procMount", kWithoutEffect},
    {.type = "SecurityContext", .name = "seccompProfile", .inner = "SeccompProfile"},
    {.type = "SecurityContext", .name = "appArmorProfile", .inner = "AppArmorProfile"},

    {"EnvVar", "name"},
    {"EnvVar", "value"},
    {.type = "EnvVar", .name = "valueFrom", .inner = "EnvVarSource"},
    {.type = "EnvVarSource", .name = "fieldRef", .inner = "ObjectFieldSelector"},
    {.type = "EnvVarSource", .name = "resourceFieldRef", .inner = "ResourceFieldSelector"},
    {"EnvVarSource", "configMapKeyRef", kRefused, "", "", kNoSource},
    {"EnvVarSource", "secretKeyRef", kRefused, "", "", kNoSource},
    {"EnvVarSource", "fileKeyRef", kRefused, "", "", kNoSource},
    {"ObjectFieldSelector", "apiVersion", kWithoutEffect},
    {"ObjectFieldSelector", "fieldPath"},
    {"ResourceFieldSelector", "containerName"},
    {"ResourceFieldSelector", "resource"},
    {"ResourceFieldSelector", "divisor"},

    {"ResourceRequirements", "limits"},
    {"ResourceRequirements", "requests"},
    {"ResourceRequirements", "claims", kRefused, "", "",
     "there are no claims; ask for devices in resources.limits"},
    {"ContainerResizePolicy", "resourceName"},
    {"ContainerResizePolicy", "restartPolicy"},
    {"ContainerRestartRule", "action"},
    {.type = "ContainerRestartRule",
     .name = "exitCodes",
     .inner = "ContainerRestartRuleOnExitCodes"},
    {"ContainerRestartRuleOnExitCodes", "operator"},
    {"ContainerRestartRuleOnExitCodes", "values"},

    {"VolumeMount", "name"},
    {"VolumeMount", "readOnly"},
    {"VolumeMount", "recursiveReadOnly"},
    {"VolumeMount", "mountPath"},
    {"VolumeMount", "subPath"},
    {"VolumeMount", "mountPropagation", kRefused, "", "None|HostToContainer",
     "mounts of a container stay its own; leave the field out"},
    {"VolumeMount", "subPathExpr"},
    {"VolumeMount", "bindMountOptions", kRefused, "", "",
     "they would not be set; mount what is at the hostPath with these options on the machine"},

    {"Volume", "name"},
    {.type = "Volume", .name = "hostPath", .inner = "HostPathVolumeSource"},
    {.type = "Volume", .name = "emptyDir", .inner = "EmptyDirVolumeSource"},
    {"Volume", "gcePersistentDisk", kRefused, "", "", kNoSource},
    {"Volume", "awsElasticBlockStore", kRefused, "", "", kNoSource},
    {"Volume", "gitRepo", kRefused, "", "", kNoSource},
    {"Volume", "secret", kRefused, "", "", kNoSource},
    {"Volume", "nfs", kRefused, "", "", kNoSource},
    {"Volume", "iscsi", kRefused, "", "", kNoSource},
    {"Volume", "glusterfs", kRefused, "", "", kNoSource},
    {"Volume", "persistentVolumeClaim", kRefused, "", "", kNoSource},
    {"Volume", "rbd", kRefused, "", "", kNoSource},
    {"Volume", "flexVolume", kRefused, "", "", kNoSource},
    {"Volume", "cinder", kRefused, "", "", kNoSource},
    {"Volume", "cephfs", kRefused, "", "", kNoSource},
    {"Volume", "flocker", kRefused, "", "", kNoSource},
    {.type = "Volume", .name = "downwardAPI", .inner = "DownwardAPIVolumeSource"},
    {"Volume", "fc", kRefused, "", "", kNoSource},
    {"Volume", "azureFile", kRefused, "", "", kNoSource},
    {"Volume", "configMap", kRefused, "", "", kNoSource},
    {"Volume", "vsphereVolume", kRefused, "", "", kNoSource},
    {"Volume", "quobyte", kRefused, "", "", kNoSource},
    {"Volume", "azureDisk", kRefused, "", "", kNoSource},
    {"Volume", "photonPersistentDisk", kRefused, "", "", kNoSource},
    {"Volume", "projected", kRefused, "", "", kNoSource},
    {"Volume", "portworxVolume", kRefused, "", "", kNoSource},
    {"Volume", "scaleIO", kRefused, "", "", kNoSource},
    {"Volume", "storageos", kRefused, "", "", kNoSource},
    {"Volume", "csi", kRefused, "", "", kNoSource},
    {"Volume", "ephemeral", kRefused, "", "", kNoSource},
    {"Volume", "image", kRefused, "", "", kNoSource},
    {"HostPathVolumeSource", "path"},
    {"HostPathVolumeSource", "type"},
    {"EmptyDirVolumeSource", "medium"},
    {"EmptyDirVolumeSource", "sizeLimit"},
    {.type = "DownwardAPIVolumeSource", .name = "items", .inner = "DownwardAPIVolumeFile"},
    {"DownwardAPIVolumeSource", "defaultMode"},
    {"DownwardAPIVolumeFile", "path"},
    {.type = "DownwardAPIVolumeFile", .name = "fieldRef", .inner = "ObjectFieldSelector"},
    {.type = "DownwardAPIVolumeFile", .name = "resourceFieldRef", .inner = "ResourceFieldSelector"},
    {"DownwardAPIVolumeFile", "mode"},
});

constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";

bool asks_for_something(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return false;
    case json::kind::string:
      return !value.get_string().empty();
    case json::kind::array:
      return !value.get_array().empty();
    case json::kind::object:
      return !value.get_object().empty();
    case json::kind::bool_:
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return true;
  }
  return true;
}

// Whether a refused field has a value that asks for nothing.
bool is_as_it_is_anyway(const json::value& value, std::string_view allowed) {
  const bool is_flag = value.is_bool();
  // Where true is what there is anyway, false asks for something.
  if (is_flag && allowed.empty()) return !value.get_bool();
  const std::string_view text = is_flag             ? (value.get_bool() ? "true" : "false")
                                : value.is_string() ? std::string_view(value.get_string())
                                                    : std::string_view();
  while (!text.empty() && !allowed.empty()) {
    const std::size_t end = std::min(allowed.find('|'), allowed.size());
    if (allowed.substr(0, end) == text) return true;
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
  }
  return false;
}

const PodField* find_pod_field(std::string_view type, std::string_view name) {
  const auto* const found =
      std::find_if(kPodFields.begin(), kPodFields.end(),
                   [&](const PodField& field) { return field.type == type && field.name == name; });
  return found == kPodFields.end() ? nullptr : found;
}

class FieldSearch {
 public:
  void look_at(const json::object& object, const Path& path, std::string_view type) {
    if (type == "EmptyDirVolumeSource") look_at_empty_dir(object, path);
    if (type == "ResourceRequirements") look_at_amounts(object, path);
    for (const auto& [key, value] : object) {
      const PodField* field = find_pod_field(type, key);
      if (field == nullptr || !asks_for_something(value)) continue;
      if (field->use == kRefused && !is_as_it_is_anyway(value, field->allowed)) {
        refuse(path / key, field->why);
      } else if (field->use == kHonoured && !field->inner.empty()) {
        look_into(value, path / key, field->inner);
      }
    }
  }

  void look_at_annotations(const Pod& pod) {
    for (const auto& [key, value] : pod.annotations) {
      if (!key.starts_with(kAppArmorAnnotation) || value == "unconfined") continue;
      refuse(Path() / "metadata" / "annotations" / key, kOnlyAProcess);
    }
  }

  std::vector<std::string> take() && { return found_.take(); }

 private:
  void refuse(const Path& path, std::string_view why) {
    found_.add(fmt::format("{}: not supported: {}", path.str(), why));
  }

  void look_into(const json::value& value, const Path& path, std::string_view type) {
    if (const json::object* object = value.if_object()) return look_at(*object, path, type);
    const json::array* list = value.if_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const json::object* object = (*list)[i].if_object()) look_at(*object, path / i, type);
    }
  }

  // In memory the size is the kernel's to keep.
  void look_at_empty_dir(const json::object& object, const Path& path) {
    const json::value* medium = field(object, "medium");
    const json::value* limit = field(object, "sizeLimit");
    if (limit == nullptr || (medium != nullptr && *medium == "Memory")) return;
    const auto amount = quantity_of(*limit);
    if (!amount || amount->sign() <= 0) return;
    refuse(path / "sizeLimit",
           "nothing keeps a directory on disk below a size; use medium: Memory, or leave the field "
           "out");
  }

  void look_at_amounts(const json::object& object, const Path& path) {
    const json::value* limits = field(object, "limits");
    if (limits == nullptr || !limits->is_object() ||
        field(limits->get_object(), "ephemeral-storage") == nullptr) {
      return;
    }
    refuse(path / "limits" / "ephemeral-storage",
           "nothing keeps a container below an amount of disk space; leave it out");
  }

  MistakeList found_{};
};

}  // namespace

std::span<const PodField> pod_fields() { return kPodFields; }

std::vector<std::string> unsupported_fields(const Pod& pod) {
  FieldSearch search;
  search.look_at_annotations(pod);
  const json::value* spec = field(pod.raw, "spec");
  if (spec != nullptr && spec->is_object()) {
    search.look_at(spec->get_object(), Path() / "spec", "PodSpec");
  }
  return std::move(search).take();
}

}  // namespace corehold
