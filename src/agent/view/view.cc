// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/pod_questions.h"
#include "manager/placing/facts.h"
#include "manager/step.h"

namespace corehold {
namespace {

// Before the reason, as a kubelet writes it into the status and nowhere else.
constexpr std::string_view kRejected = "Pod was rejected: ";

std::string waiting_reason(const RunPod& pod, const PlacedPod& placed, const Container& container,
                           const RunContainer& state) {
  if (!is_admitted(placed)) return "";
  if (pod.record.restart_all.under_way) return "RestartingAllContainers";
  if (state.stage == Stage::kBackingOff) return "CrashLoopBackOff";
  if (container.kind != Container::Kind::kApp) return "ContainerCreating";
  return pod.record.pod.init_containers.empty() ? "ContainerCreating" : "PodInitializing";
}

ContainerView container_view(const RunPod& pod, const PlacedPod& placed,
                             const Container& container) {
  ContainerView view{.name = container.name};
  const auto found_record = pod.record.containers.find(container.name);
  const auto found_state = pod.containers.find(container.name);
  const ContainerRecord record =
      found_record == pod.record.containers.end() ? ContainerRecord{} : found_record->second;
  const RunContainer state =
      found_state == pod.containers.end() ? RunContainer{} : found_state->second;
  view.attempt = record.attempt;
  view.restarts = record.attempt;
  view.last_attempt = record.exits - 1;
  if (pod.record.wish) view.granted = container.resources;
  view.actual = record.actual;
  if (is_running(state.stage)) {
    view.stage = ContainerView::Stage::kRunning;
    view.started_at = record.started_at;
    if (record.last_exit) view.last = record.last_exit;
  } else if (record.last_exit && record.ended) {
    view.stage = ContainerView::Stage::kTerminated;
    view.exit = record.last_exit;
  } else {
    view.reason = waiting_reason(pod, placed, container, state);
    if (record.last_exit) {
      view.last = record.last_exit;
      if (state.stage == Stage::kBackingOff) view.message = record.last_exit->message;
    }
  }
  return view;
}

std::vector<ContainerView> container_views(const RunPod& pod, const PlacedPod& placed,
                                           const std::vector<Container>& containers) {
  std::vector<ContainerView> views;
  views.reserve(containers.size());
  for (const Container& container : containers) {
    views.push_back(container_view(pod, placed, container));
  }
  return views;
}

// No condition before the manager has decided on the wish.
std::optional<ResizeView> resize_pending(const RunPod& pod, const ResizeState& resize) {
  if (!pod.record.wish || !resize.verdict) return std::nullopt;
  return ResizeView{.reason = std::string(name_of(*resize.verdict)),
                    .message = resize.message,
                    .since = pod.record.wish->since};
}

std::optional<ResizeView> resize_in_progress(const RunPod& pod, const ResizeState& resize) {
  if (!is_resizing(pod.record)) return std::nullopt;
  ResizeView view{.since = pod.record.resize_began_at};
  std::vector<std::string_view> errors;
  for (const auto& [container, message] : resize.errors) errors.push_back(message);
  // While there is a wish, verdict and message are those of the wish.
  if (!pod.record.wish && resize.verdict) errors.push_back(resize.message);
  if (errors.empty()) return view;
  view.reason = "Error";
  view.message = fmt::format("{}", fmt::join(errors, "; "));
  return view;
}

std::optional<RestartAllView> restart_all(const RunPod& pod, const NodeFacts& facts) {
  const RestartAll& restart = pod.record.restart_all;
  const bool is_on = facts.setup.gates.is_on(Gate::kRestartAllContainersOnContainerExits);
  const bool can_happen = is_on && restarts_all_containers(pod.record.pod);
  if (!can_happen && !restart.under_way) return std::nullopt;
  return RestartAllView{.under_way = restart.under_way, .since = restart.since};
}

// When the container loses the CPUs that its files no longer list.
void count_down(CpuHolder& holder, const PlacedPod& pod, const Now& now) {
  const auto container = pod.containers.find(holder.container);
  if (!holder.pending || container == pod.containers.end()) return;
  const std::optional<ShrinkState>& shrink = container->second.shrink;
  if (!shrink || shrink->after != *holder.pending || !shrink->told_at) return;
  const SteadyTime left = *shrink->told_at + shrink->delay - now.steady;
  holder.pending_for =
      std::max(std::chrono::milliseconds{}, std::chrono::ceil<std::chrono::milliseconds>(left));
  holder.pending_until = now.wall + *holder.pending_for;
}

std::vector<std::string> topology_words(const TopologyOptions& options) {
  std::vector<std::string> words;
  if (options.prefer_closest_numa) words.emplace_back("prefer-closest-numa-nodes");
  if (options.max_numa_nodes != TopologyOptions{}.max_numa_nodes) {
    words.push_back("max-allowable-numa-nodes=" + std::to_string(options.max_numa_nodes));
  }
  return words;
}

// What the node declares, and why not the rest.
void put_features(const OwnFeatures& own, CpuSettings& settings) {
  settings.declared_features = own.names();
  for (const Feature& feature : own.registry->features()) {
    if (own.declared.contains(*own.registry->find(feature.name))) continue;
    settings.undeclared_features[feature.name] = why_undeclared(own, feature);
  }
}

CpuSettings settings_of(const NodeFacts& facts) {
  const NodeSetup& setup = facts.setup;
  CpuSettings settings{.topology_policy = std::string(name_of(setup.topology_options.policy)),
                       .topology_scope = std::string(name_of(setup.topology_options.scope)),
                       .topology_options = topology_words(setup.topology_options),
                       .idle_gates = setup.gates.others,
                       .scale_delay = setup.scale_delay,
                       .reconcile_period = setup.reconcile_period,
                       .min_shared = setup.min_shared,
                       .isolation = facts.isolation ? std::string(name_of(*facts.isolation)) : ""};
  for (const Gate gate : setup.gates.changed()) {
    settings.gates[std::string(info(gate).name)] = setup.gates.is_on(gate);
  }
  if (facts.features) put_features(*facts.features, settings);
  return settings;
}

}  // namespace

const RunPod* find_pod(const NodeState& node, std::string_view namespace_name,
                       std::string_view name) {
  for (const auto& [uid, pod] : node.running.pods) {
    if (pod.record.pod.name == name && pod.record.pod.namespace_name == namespace_name) {
      return &pod;
    }
  }
  return nullptr;
}

boost::json::object pod_json(const RunPod& pod, const PlacedPod& placed, const NodeFacts& facts,
                             std::uint64_t version) {
  const ResizeState& resize = placed.resize;
  const PodRecord& record = pod.record;
  std::optional<Pod> wanted;
  if (record.wish) wanted = wanted_pod(record);
  const std::string_view before = record.failed ? kRejected : "";
  return to_json(
      PodView{.pod = wanted ? *wanted : record.pod,
              .phase = phase_of(pod),
              .reason = record.reason,
              .message = fmt::format("{}{}", before, record.message),
              .scheduled = record.started_at.count() != 0,
              .resource_version = version,
              .generation = record.generation,
              .is_undecided = is_admitted(placed) && record.wish && !resize.verdict,
              .created_at = record.created_at,
              .deleted_at = record.deleted_at,
              .grace = record.grace,
              .started_at = record.started_at,
              .host = facts.name,
              .resize_pending = resize_pending(pod, resize),
              .resize_in_progress = resize_in_progress(pod, resize),
              .restart_all = restart_all(pod, facts),
              .init_containers = container_views(pod, placed, record.pod.init_containers),
              .containers = container_views(pod, placed, record.pod.containers)});
}

CpuMap cpu_map(const NodeState& node, const NodeFacts& facts, const Now& now) {
  const NodeSetup& setup = facts.setup;
  const State& cpus = node.placing.bookings.cpus;
  CpuMap map{.node = facts.name,
             .topology = *setup.topology,
             .policy = std::string(setup.policy->name()),
             .options = setup.options,
             .reserved = setup.reserved,
             .shared = cpus.shared - node.placing.offline,
             .free = (cpus.shared & setup.givable) - node.placing.offline,
             .offline = node.placing.offline,
             .settings = settings_of(facts)};
  if (setup.full_pcpus_only) map.free = setup.topology->whole_cores_within(map.free);
  for (const auto& [uid, containers] : cpus.pods) {
    const auto pod = node.running.pods.find(uid);
    for (const auto& [name, holding] : containers) {
      CpuHolder holder{.uid = uid,
                       .container = name,
                       .assigned = holding.assigned,
                       .promised = holding.promised,
                       .pending = holding.pending,
                       .numa = setup.topology->nodes_of(holding.assigned)};
      if (pod != node.running.pods.end()) {
        holder.namespace_name = pod->second.record.pod.namespace_name;
        holder.pod = pod->second.record.pod.name;
        holder.since = pod->second.record.started_at;
        count_down(holder, node.placing.pods.at(uid), now);
      }
      map.containers.push_back(std::move(holder));
    }
  }
  std::stable_sort(map.containers.begin(), map.containers.end(),
                   [](const CpuHolder& a, const CpuHolder& b) {
                     return std::tie(a.namespace_name, a.pod, a.container) <
                            std::tie(b.namespace_name, b.pod, b.container);
                   });
  return map;
}

NodeView node_view(const NodeFacts& facts, std::uint64_t version) {
  return {
      .name = facts.name,
      .resource_version = version,
      .created_at = facts.started_at,
      .since = facts.started_at,
      .version = facts.version,
      .kernel = facts.kernel,
      .architecture = facts.architecture,
      .os_image = facts.os_image,
      .machine_id = facts.machine_id,
      .boot_id = facts.boot_id,
      .cpus = facts.setup.topology->cpu_count(),
      .reserved_cpus = facts.setup.reserved.size(),
      .memory = facts.memory,
      .policy = std::string(facts.setup.policy->name()),
      .confinement = std::string(name_of(facts.capabilities.confined_by)),
      .note = facts.capabilities.note,
      .declared_features = facts.features ? facts.features->names() : std::vector<std::string>(),
      .exclusive = facts.exclusive};
}

}  // namespace corehold
