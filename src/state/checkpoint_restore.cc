// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint to State and back, and the kubelet's own restore.
#include <fmt/format.h>

#include "gotext/go_json_writer.h"
#include "state/checkpoint.h"
#include "state/checkpoint_unmarshal.h"

namespace corehold {
namespace {

Result<std::string> canonical(const std::string& text) {
  return format_list(TRY(parse_kubelet_list(text)));
}

Result<void> make_canonical(SetsByPod& sets, std::string_view what) {
  for (auto& [pod, containers] : sets) {
    for (auto& [name, set] : containers) {
      auto text = canonical(set);
      if (!text) {
        return wrap(fmt::format("could not parse {} {} for container {} in pod {}", what,
                                go_quoted(set), go_quoted(name), go_quoted(pod)),
                    text.error());
      }
      set = *std::move(text);
    }
  }
  return {};
}

Result<CpuSet> cpus_of(const std::string& text, const std::string& what) {
  const auto ranges = parse_kubelet_list(text);
  if (!ranges) return wrap(fmt::format("{}: list {:?}", what, text), ranges.error());
  CpuSet set;
  for (const NumberRange& range : *ranges) {
    if (range.last >= kMaxCpus || range.first < 0) {
      return Error{Code::kInvalid,
                   fmt::format("{}: CPU {} is outside 0 to {}, the CPUs corehold can handle", what,
                               range.first < 0 ? range.first : range.last, kMaxCpus - 1)};
    }
    set.insert_range(CpuId(static_cast<int>(range.first)), CpuId(static_cast<int>(range.last)));
  }
  return set;
}

Error unresolved(const std::string& id) {
  return {Code::kNotFound,
          fmt::format("container id {} is in a v1 checkpoint, which does not say whose it is, and "
                      "not in the container map; give one with --container-map",
                      id)};
}

}  // namespace

Result<Checkpoint> restore_checkpoint(Checkpoint checkpoint, std::string_view policy,
                                      const CheckpointGates& gates) {
  if (checkpoint.policy != policy) {
    return Error{Code::kConflict,
                 fmt::format("configured policy {} differs from state checkpoint policy {}",
                             go_quoted(policy), go_quoted(checkpoint.policy))};
  }
  if (!checkpoint.by_id.empty()) return unresolved(checkpoint.by_id.begin()->first);
  auto default_set = canonical(checkpoint.default_set);
  if (!default_set) {
    return wrap(
        fmt::format("could not parse default CPU set {}", go_quoted(checkpoint.default_set)),
        default_set.error());
  }
  checkpoint.default_set = *std::move(default_set);
  TRY(make_canonical(checkpoint.entries, "cpuset"));
  if (!gates.pod_level_resource_managers) checkpoint.pod_entries.clear();
  const bool has_promised = gates.exclusive_cpus || checkpoint.version == CheckpointVersion::kV3;
  if (!has_promised) checkpoint.promised.clear();
  if (has_promised && checkpoint.promised.empty()) checkpoint.promised = checkpoint.entries;
  TRY(make_canonical(checkpoint.promised, "baseline cpuset"));
  return checkpoint;
}

Result<Checkpoint> resolve_containers(Checkpoint checkpoint, const ContainerMap& containers) {
  for (auto& [id, set] : std::exchange(checkpoint.by_id, {})) {
    const auto found = containers.find(id);
    if (found == containers.end()) return unresolved(id);
    const auto& [pod, container] = found->second;
    const bool is_new = checkpoint.entries[pod].emplace(container, set).second;
    if (!is_new) {
      return Error{
          Code::kConflict,
          fmt::format("container id {} is container {} of pod {} in the container map, and "
                      "so is another id of the checkpoint",
                      id, container, pod)};
    }
  }
  return checkpoint;
}

Result<State> state_of(const Checkpoint& checkpoint) {
  if (!checkpoint.by_id.empty()) return unresolved(checkpoint.by_id.begin()->first);
  State state{.policy = checkpoint.policy};
  state.shared = TRY(cpus_of(checkpoint.default_set, "default set"));
  for (const auto& [pod, containers] : checkpoint.entries) {
    PodHoldings holdings;
    for (const auto& [name, set] : containers) {
      Holding& holding = holdings[name];
      holding.assigned = TRY(cpus_of(set, fmt::format("container {} of pod {}", name, pod)));
      if (checkpoint.promised.empty()) holding.promised = holding.assigned;
    }
    state.pods.set(pod, std::move(holdings));
  }
  for (const auto& [pod, containers] : checkpoint.promised) {
    for (const auto& [name, set] : containers) {
      const std::string what = fmt::format("container {} of pod {}: promised", name, pod);
      const CpuSet promised = TRY(cpus_of(set, what));
      const Holding* assigned = state.find(pod, name);
      if (assigned == nullptr) {
        return Error{Code::kInvalid,
                     fmt::format("container {} of pod {}: CPUs {} are promised, but none assigned",
                                 name, pod, promised.str())};
      }
      Holding holding = *assigned;
      holding.promised = promised;
      state.pods.set(pod, name, holding);
    }
  }
  return state;
}

Checkpoint checkpoint_of(const State& state) {
  Checkpoint checkpoint{.policy = state.policy, .default_set = state.shared.str()};
  for (const auto& [pod, containers] : state.pods) {
    auto& entries = checkpoint.entries[pod];
    auto& promised = checkpoint.promised[pod];
    for (const auto& [name, holding] : containers) {
      entries.emplace(name, holding.assigned.str());
      promised.emplace(name, holding.promised.str());
    }
  }
  return checkpoint;
}

}  // namespace corehold
