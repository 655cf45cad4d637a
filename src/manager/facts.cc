// SPDX-License-Identifier: Apache-2.0
#include "manager/facts.h"

#include <algorithm>

#include "pod/restart_rules.h"

namespace corehold {
namespace {

const ContainerRecord* record_of(const PodRecord& record, const std::string& name) {
  const auto found = record.containers.find(name);
  return found == record.containers.end() ? nullptr : &found->second;
}

bool has_ended(const PodRecord& record, const std::string& name) {
  const ContainerRecord* found = record_of(record, name);
  return found != nullptr && found->ended;
}

bool has_succeeded(const PodRecord& record, const std::string& name) {
  const ContainerRecord* found = record_of(record, name);
  return found != nullptr && found->ended && found->last_exit && found->last_exit->code == 0;
}

// A sidecar holds up what comes after it only until it has run once since the pod started (over).
bool has_run(const PodState& pod, const std::string& name) {
  if (pod.containers.at(name).stage == Stage::kRunning) return true;
  const ContainerRecord* found = record_of(pod.record, name);
  return found != nullptr && found->last_exit && found->exits > found->began &&
         found->last_exit->reason != "StartError";
}

// The CPUs that are the container's own by what is durable, less those that it has given up.
std::optional<CpuSet> own_cpus(const NodeState& node, const ContainerRef& ref) {
  const Holding* holding = node.durable.find(ref);
  if (holding == nullptr) return std::nullopt;
  const Holding* booked = node.bookings.cpus.find(ref);
  return booked == nullptr ? holding->assigned : holding->assigned & booked->assigned;
}

// The CPUs that a container in the middle of a resize can run on whatever has become of what
// the runtime was asked for.
CpuSet surely_on(const std::string& name, const ContainerState& state, const PodState& pod) {
  if (state.stage == Stage::kStarting) return state.asked.value_or(CpuSet{});
  CpuSet cpus = state.confirmed;
  if (state.asked) cpus &= *state.asked;
  // How far the last try got is not known: it is told of nothing new.
  if (!state.terms && pod.told && pod.told->contains(name)) cpus &= pod.told->at(name).cpus;
  return cpus;
}

// cgroup v1 shares for a request, as the kubelet computes them.
int cpu_shares(const Container& container) {
  constexpr std::int64_t kLeast = 2;
  constexpr std::int64_t kMost = 262'144;
  const std::int64_t milli = container.request(kCpu).milli_value();
  if (milli <= 0) return kLeast;
  if (milli > kMost) return kMost;
  return static_cast<int>(std::clamp(milli * 1024 / 1000, kLeast, kMost));
}

}  // namespace

CpuSet may_run_on(const ContainerState& container) {
  if (container.stage == Stage::kIdle) return {};
  CpuSet cpus = container.confirmed;
  if (container.asked) cpus |= *container.asked;
  if (container.strayed) cpus |= *container.strayed;
  return cpus;
}

bool is_run(Source source) { return source == Source::kRun || source == Source::kRunWaiting; }

bool is_being_placed(const NodeState& node, const std::string& uid) {
  return node.resizing.contains(uid) ||
         std::find(node.admitting.begin(), node.admitting.end(), uid) != node.admitting.end();
}

PodState* find_pod(NodeState& node, const std::string& uid) {
  const auto found = node.pods.find(uid);
  return found == node.pods.end() ? nullptr : &found->second;
}

ContainerState* find_container(NodeState& node, const ContainerRef& ref) {
  PodState* pod = find_pod(node, ref.pod);
  if (pod == nullptr) return nullptr;
  const auto found = pod->containers.find(ref.container);
  return found == pod->containers.end() ? nullptr : &found->second;
}

bool restarts(const PodRecord& record, const Container& container, int code) {
  if (is_run(record.source)) return false;
  if (container.kind == Container::Kind::kSidecar) return true;
  if (container.kind == Container::Kind::kInit && code == 0) return false;
  if (restart_action(record.pod, container, code) == RestartAction::kRestart) return true;
  const std::string& policy =
      container.restart_policy.empty() ? record.pod.restart_policy : container.restart_policy;
  if (policy == "Never") return false;
  return policy != "OnFailure" || code != 0;
}

bool has_failed_init(const PodRecord& record) {
  const auto& inits = record.pod.init_containers;
  return std::any_of(inits.begin(), inits.end(), [&](const Container& container) {
    return container.kind == Container::Kind::kInit && has_ended(record, container.name) &&
           !has_succeeded(record, container.name);
  });
}

bool have_apps_ended(const PodRecord& record) {
  const auto& apps = record.pod.containers;
  return std::all_of(apps.begin(), apps.end(),
                     [&](const Container& container) { return has_ended(record, container.name); });
}

bool has_all_cpus(const NodeState& node, const PodState& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(), [&](const auto& entry) {
    const auto& [name, state] = entry;
    return state.exclusive == 0 || pod.record.containers.at(name).ended ||
           node.bookings.cpus.find({pod.record.pod.uid, name}) != nullptr;
  });
}

bool is_stopping(const PodState& pod) {
  return pod.record.failed || pod.stored_deletion.at != WallTime{} || has_failed_init(pod.record) ||
         have_apps_ended(pod.record);
}

bool is_quiet(const PodState& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& entry) { return entry.second.stage == Stage::kIdle; });
}

bool has_finished(const PodState& pod) { return is_stopping(pod) && is_quiet(pod); }

bool is_leaving(const PodState& pod) {
  return pod.stored_deletion.at != WallTime{} || is_run(pod.record.source);
}

std::vector<const Container*> whose_turn(const PodState& pod) {
  std::vector<const Container*> turn;
  for (const Container& container : pod.record.pod.init_containers) {
    if (container.kind == Container::Kind::kInit) {
      if (has_succeeded(pod.record, container.name)) continue;
      turn.push_back(&container);
      return turn;
    }
    turn.push_back(&container);
    if (!has_run(pod, container.name)) return turn;
  }
  for (const Container& container : pod.record.pod.containers) turn.push_back(&container);
  return turn;
}

bool is_nobody_else_on(const NodeState& node, const ContainerRef& ref, const CpuSet& cpus,
                       Strays strays) {
  for (const auto& [uid, pod] : node.pods) {
    for (const auto& [name, container] : pod.containers) {
      if (uid == ref.pod && name == ref.container) continue;
      if (!may_run_on(container).intersects(cpus)) continue;
      const bool is_left_out = strays == Strays::kLeaveOut && container.strayed &&
                               node.durable.find({uid, name}) != nullptr;
      if (!is_left_out) return false;
    }
  }
  return true;
}

const ContainerResize* shrink_of(const PodState& pod, const std::string& container) {
  if (!pod.resize.under_way) return nullptr;
  for (const ContainerResize& resize : pod.resize.under_way->containers) {
    if (resize.container == container && !resize.grows()) return &resize;
  }
  return nullptr;
}

bool is_due(const ContainerState& state, const ContainerResize& shrink) {
  return state.shrink && state.shrink->is_due && state.shrink->after == shrink.after;
}

AssignedCpus shown_cpus(const ManagerRules& rules, const NodeState& node, const ContainerRef& ref,
                        const PodState& pod) {
  const auto own = own_cpus(node, ref);
  if (!own) return {};
  CpuSet cpus = *own;
  const ContainerState& state = pod.containers.at(ref.container);
  if (const ContainerResize* shrink = shrink_of(pod, ref.container)) cpus &= shrink->after;
  // Also of what it keeps: a growth before this shrink may not have brought that yet. After a
  // crash the checkpoint may have a growth of which the store knows the wish alone.
  const bool is_resized =
      pod.record.containers.at(ref.container).actual || own->size() > state.exclusive;
  if (state.stage != Stage::kIdle && is_resized) {
    cpus &= surely_on(ref.container, state, pod) | node.offline;
  }
  return {.cpus = cpus, .mems = rules.admission.topology.nodes_of(cpus)};
}

bool is_told(const ManagerRules& rules, const NodeState& node, const ContainerRef& ref,
             const PodState& pod) {
  const AssignedCpus shown = shown_cpus(rules, node, ref, pod);
  const auto says_so = [&](const std::optional<AssignedByContainer>& files) {
    if (!files) return false;
    const auto found = files->find(ref.container);
    return found != files->end() && found->second == shown;
  };
  // What is on its way to the files will be there any moment.
  return says_so(pod.told) && (!pod.telling || says_so(pod.telling));
}

std::optional<CpuSet> wanted_cpus(const ManagerRules& rules, const NodeState& node,
                                  const ContainerRef& ref) {
  if (!rules.pins_cpus) return std::nullopt;
  CpuSet cpus = own_cpus(node, ref).value_or(node.durable.shared);
  if (const auto pod = node.pods.find(ref.pod); pod != node.pods.end()) {
    if (const ContainerResize* shrink = shrink_of(pod->second, ref.container)) {
      // What it has left already it is not given back.
      CpuSet kept = shrink->after;
      const ContainerState& state = pod->second.containers.at(ref.container);
      if (!is_due(state, *shrink)) kept |= state.confirmed;
      cpus &= kept;
    }
  }
  cpus -= node.offline;
  if (cpus.empty()) return std::nullopt;
  return cpus;
}

std::optional<NodeSet> wanted_mems(const ManagerRules& rules, const NodeState& node,
                                   const ContainerRef& ref) {
  if (!rules.memory_pinning || !rules.pins_cpus) return std::nullopt;
  const auto own = own_cpus(node, ref);
  if (!own) return std::nullopt;
  return rules.admission.topology.nodes_of(*own);
}

Terms terms_of(const NodeState& node, const ContainerRef& ref, const Container& container) {
  Terms terms{.cpu_shares = cpu_shares(container),
              .memory_limit = std::max<std::int64_t>(0, container.limit(kMemory).value())};
  if (node.durable.find(ref) == nullptr) {
    // More than any machine has is no limit, and nothing that a kernel could be told.
    const std::int64_t limit = std::max<std::int64_t>(0, container.limit(kCpu).milli_value());
    terms.quota = limit > std::int64_t{kMaxCpus} * 1000 ? 0 : limit;
  }
  return terms;
}

Pod wanted_pod(const PodRecord& record) {
  Pod pod = record.pod;
  if (!record.wish) return pod;
  if (const auto wished = record.wish->resources.find(""); wished != record.wish->resources.end())
    pod.resources = wished->second;
  for (auto* containers : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *containers) {
      const auto wished = record.wish->resources.find(container.name);
      if (wished != record.wish->resources.end()) container.resources = wished->second;
    }
  }
  return pod;
}

bool is_resizing(const PodRecord& record) {
  return std::any_of(record.containers.begin(), record.containers.end(),
                     [](const auto& entry) { return entry.second.actual.has_value(); });
}

std::chrono::milliseconds doubled(std::chrono::milliseconds first, std::chrono::milliseconds most,
                                  int n) {
  for (; n > 1 && first < most; --n) first *= 2;
  return std::min(first, most);
}

std::chrono::milliseconds retry_delay(int failures) {
  constexpr std::chrono::milliseconds kFirst{1'000};
  constexpr std::chrono::milliseconds kMost{30'000};
  return doubled(kFirst, kMost, failures);
}

}  // namespace corehold
