// SPDX-License-Identifier: Apache-2.0
#include "agent/podresources/pod_resources.h"

#include <podresources.pb.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "agent/view/view.h"
#include "manager/placing/facts.h"

namespace corehold {
namespace {

void set_nodes(v1::TopologyInfo& info, const NodeSet& nodes) {
  for (const NodeId node : nodes) info.add_nodes()->set_id(node.value);
}

v1::ContainerMemory memory_block(const std::string& type, std::int64_t bytes,
                                 const NodeSet& nodes) {
  v1::ContainerMemory block;
  block.set_memory_type(type);
  block.set_size(static_cast<std::uint64_t>(bytes));
  set_nodes(*block.mutable_topology(), nodes);
  return block;
}

// Calls `add` for each entry that tells of the device.
template <typename Add>
void tell_device(const std::string& resource, const Device& device, const Add& add) {
  const auto tell = [&](const NodeSet& nodes) {
    v1::ContainerDevices& told = *add();
    told.set_resource_name(resource);
    told.add_device_ids(device.id);
    if (!nodes.empty()) set_nodes(*told.mutable_topology(), nodes);
  };
  if (device.nodes.empty()) return tell({});
  for (const NodeId node : device.nodes) {
    NodeSet one;
    one.insert(node);
    tell(one);
  }
}

void tell_devices(const DeviceBook& book, const DeviceHolding& held,
                  v1::ContainerResources& answer) {
  for (const auto& [resource, ids] : held) {
    const auto inventory = book.inventory().find(resource);
    for (const std::string& id : ids) {
      Device device{.id = id};
      if (inventory != book.inventory().end()) {
        const auto found = std::find_if(inventory->second.begin(), inventory->second.end(),
                                        [&](const Device& each) { return each.id == id; });
        if (found != inventory->second.end()) device = *found;
      }
      tell_device(resource, device, [&] { return answer.add_devices(); });
    }
  }
}

void tell_container(const Bookings& bookings, const std::string& uid, const std::string& name,
                    v1::ContainerResources& answer) {
  if (const Holding* holding = bookings.cpus.find({uid, name})) {
    for (const CpuId cpu : holding->assigned) answer.add_cpu_ids(cpu.value);
  }
  if (const MemoryHolding* holding = bookings.memory.find(uid, name)) {
    for (const auto& [type, bytes] : holding->bytes) {
      if (bytes > 0) *answer.add_memory() = memory_block(type, bytes, holding->nodes);
    }
  }
  const auto pod = bookings.devices.pods().find(uid);
  if (pod == bookings.devices.pods().end()) return;
  const auto held = pod->second.find(name);
  if (held != pod->second.end()) tell_devices(bookings.devices, held->second, answer);
}

void tell_pod(const NodeState& node, const RunPod& state, v1::PodResources& answer) {
  const Pod& pod = state.record.pod;
  answer.set_name(pod.name);
  answer.set_namespace_(pod.namespace_name);
  for (const Container* container : in_starting_order(pod)) {
    if (container->kind == Container::Kind::kInit) continue;
    v1::ContainerResources& told = *answer.add_containers();
    told.set_name(container->name);
    // The bookings of a pod that is not admitted yet may not be in the checkpoint.
    if (is_admitted(node.placing.pods.at(pod.uid)))
      tell_container(node.placing.bookings, pod.uid, container->name, told);
  }
}

}  // namespace

void list_pod_resources(const NodeState& node, v1::ListPodResourcesResponse& answer) {
  std::vector<const RunPod*> pods;
  for (const auto& [uid, pod] : node.running.pods) {
    if (is_admitted(node.placing.pods.at(uid))) pods.push_back(&pod);
  }
  std::sort(pods.begin(), pods.end(), [](const RunPod* a, const RunPod* b) {
    const Pod& left = a->record.pod;
    const Pod& right = b->record.pod;
    return std::tie(left.namespace_name, left.name) < std::tie(right.namespace_name, right.name);
  });
  for (const RunPod* pod : pods) tell_pod(node, *pod, *answer.add_pod_resources());
}

Result<void> get_pod_resources(const NodeState& node, const std::string& namespace_name,
                               const std::string& name, v1::GetPodResourcesResponse& answer) {
  const RunPod* pod = find_pod(node, namespace_name, name);
  if (pod == nullptr) {
    return Error{Code::kNotFound,
                 fmt::format("pod {} in namespace {} not found", name, namespace_name)};
  }
  tell_pod(node, *pod, *answer.mutable_pod_resources());
  return {};
}

void get_allocatable_resources(const NodeState& node, const NodeSetup& setup,
                               v1::AllocatableResourcesResponse& answer) {
  if (!setup.givable.empty()) {
    for (const CpuId cpu : setup.topology->cpus() - setup.reserved) answer.add_cpu_ids(cpu.value);
  }
  for (const auto& [id, memory] : node.placing.bookings.memory.nodes()) {
    NodeSet alone;
    alone.insert(id);
    for (const auto& [type, bytes] : memory.allocatable) {
      if (bytes > 0) *answer.add_memory() = memory_block(type, bytes, alone);
    }
  }
  for (const auto& [resource, devices] : node.placing.bookings.devices.inventory()) {
    for (const Device& device : devices) {
      tell_device(resource, device, [&] { return answer.add_devices(); });
    }
  }
}

PodResourcesSource pod_resources_source(const std::function<const NodeState&()>& node,
                                        const NodeSetup& setup, Metrics& metrics) {
  return {.list =
              [node, &metrics](v1::ListPodResourcesResponse& answer) {
                list_pod_resources(node(), answer);
                metrics.pod_resources_asked(PodResourcesCall::kList, CallResult::kAnswered);
              },
          .get =
              [node, &metrics](const v1::GetPodResourcesRequest& request,
                               v1::GetPodResourcesResponse& answer) {
                auto found =
                    get_pod_resources(node(), request.pod_namespace(), request.pod_name(), answer);
                metrics.pod_resources_asked(PodResourcesCall::kGet,
                                            found ? CallResult::kAnswered : CallResult::kFailed);
                return found;
              },
          .get_allocatable =
              [node, &setup, &metrics](v1::AllocatableResourcesResponse& answer) {
                get_allocatable_resources(node(), setup, answer);
                metrics.pod_resources_asked(PodResourcesCall::kGetAllocatable,
                                            CallResult::kAnswered);
              }};
}

}  // namespace corehold
