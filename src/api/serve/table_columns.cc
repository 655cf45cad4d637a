// SPDX-License-Identifier: Apache-2.0
//
// The columns of the tables. Names and descriptions are what an API server of Kubernetes
// 1.37 sends, because clients show them and may look for them.
#include <array>

#include "api/serve/table_rows.h"
#include "base/check.h"

namespace corehold {
namespace {

constexpr std::string_view kNameText =
    "Name must be unique within a namespace. Is required when creating resources, although "
    "some resources may allow a client to request the generation of an appropriate name "
    "automatically. Name is primarily intended for creation idempotence and configuration "
    "definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

constexpr std::string_view kAgeText =
    "CreationTimestamp is a timestamp representing the server time when this object was "
    "created. It is not guaranteed to be set in happens-before order across separate "
    "operations. Clients may not set this value. It is represented in RFC3339 form and is "
    "in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#me"
    "tadata";

constexpr std::string_view kAddressText =
    "List of addresses reachable to the node. Queried from cloud provider, if available. "
    "More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: "
    "This field is declared as mergeable, but the merge key is not sufficiently unique, "
    "which can cause data corruption when it is merged. Callers should instead use a "
    "full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should "
    "assume that addresses can change during the lifetime of a Node. However, there are "
    "some exceptions where this may not be possible, such as Pods that inherit a Node's "
    "address in its own status or consumers of the downward API (status.hostIP).";

constexpr std::array<TableColumn, 10> kEventColumns{
    {{"Last Seen", "The time at which the most recent occurrence of this event was recorded.", 0},
     {"Type", "Type of this event (Normal, Warning), new types could be added in the future", 0},
     {"Reason",
      "This should be a short, machine understandable string that gives the reason for the "
      "transition into the object's current status.",
      0},
     {"Object", "The object that this event is about.", 0},
     {"Subobject",
      "If referring to a piece of an object instead of an entire object, this string should "
      "contain a valid JSON/Go field access statement, such as "
      "desiredState.manifest.containers[2]. For example, if the object reference is to a "
      "container within a pod, this would take on a value like: \"spec.containers{name}\" "
      "(where \"name\" refers to the name of the container that triggered the event) or if no "
      "container name is specified \"spec.containers[2]\" (container with index 2 in this "
      "pod). This syntax is chosen only to have some well-defined way of referencing a part "
      "of an object.",
      1},
     {"Source",
      "The component reporting this event. Should be a short machine understandable string.", 1},
     {"Message", "A human-readable description of the status of this operation.", 0},
     {"First Seen",
      "The time at which the event was first recorded. (Time of server receipt is in "
      "TypeMeta.)",
      1},
     {"Count", "The number of times this event has occurred.", 1},
     {"Name", kNameText, 1}}};

constexpr std::array<TableColumn, 3> kNamespaceColumns{
    {{"Name", kNameText, 0}, {"Status", "The status of the namespace", 0}, {"Age", kAgeText, 0}}};

constexpr std::array<TableColumn, 10> kNodeColumns{
    {{"Name", kNameText, 0},
     {"Status", "The status of the node", 0},
     {"Roles", "The roles of the node", 0},
     {"Age", kAgeText, 0},
     {"Version", "Kubelet Version reported by the node.", 0},
     {"Internal-IP", kAddressText, 1},
     {"External-IP", kAddressText, 1},
     {"OS-Image",
      "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).", 1},
     {"Kernel-Version",
      "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).", 1},
     {"Container-Runtime",
      "ContainerRuntime Version reported by the node through runtime remote API (e.g. "
      "containerd://1.4.2).",
      1}}};

constexpr std::array<TableColumn, 9> kPodColumns{
    {{"Name", kNameText, 0},
     {"Ready", "The aggregate readiness state of this pod for accepting traffic.", 0},
     {"Status", "The aggregate status of the containers in this pod.", 0},
     {"Restarts",
      "The number of times the containers in this pod have been restarted and when the last "
      "container in this pod has restarted.",
      0},
     {"Age", kAgeText, 0},
     {"IP",
      "podIP address allocated to the pod. Routable at least within the cluster. Empty if "
      "not yet allocated.",
      1},
     {"Node",
      "NodeName indicates in which node this pod is scheduled. If empty, this pod is a "
      "candidate for scheduling by the scheduler defined in schedulerName. Once this field "
      "is set, the kubelet for this node becomes responsible for the lifecycle of this pod. "
      "This field should not be used to express a desire for the pod to be scheduled on a "
      "specific node. "
      "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
      1},
     {"Nominated Node",
      "nominatedNodeName is set only when this pod preempts other pods on the node, but it "
      "cannot be scheduled right away as preemption victims receive their graceful "
      "termination periods. This field does not guarantee that the pod will be scheduled on "
      "this node. Scheduler may decide to place the pod elsewhere if other nodes become "
      "available sooner. Scheduler may also decide to give the resources on this node to a "
      "higher priority pod that is created after preemption. As a result, this field may be "
      "different than PodSpec.nodeName when the pod is scheduled.",
      1},
     {"Readiness Gates",
      "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready "
      "when all its containers are ready AND all conditions specified in the readiness gates "
      "have status equal to \"True\" More info: "
      "https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates",
      1}}};

}  // namespace

std::span<const TableColumn> table_columns(Resource resource) {
  switch (resource) {
    case Resource::kEvents:
      return kEventColumns;
    case Resource::kNamespaces:
      return kNamespaceColumns;
    case Resource::kNodes:
      return kNodeColumns;
    case Resource::kPods:
      return kPodColumns;
  }
  check_failed("every Resource has columns", __FILE__, __LINE__);
}

}  // namespace corehold
