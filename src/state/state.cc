// SPDX-License-Identifier: Apache-2.0
#include "state/state.h"

namespace corehold {
namespace {

void apply_edit(State& state, const SetShared& edit) { state.shared = edit.cpus; }

void apply_edit(State& state, const Assign& edit) {
  state.pods[edit.container.pod][edit.container.container] =
      Holding{.assigned = edit.cpus, .promised = edit.cpus};
}

Holding* find_holding(State& state, const ContainerRef& ref) {
  const auto pod = state.pods.find(ref.pod);
  if (pod == state.pods.end()) return nullptr;
  const auto container = pod->second.find(ref.container);
  return container == pod->second.end() ? nullptr : &container->second;
}

void apply_edit(State& state, const Reassign& edit) {
  Holding* holding = find_holding(state, edit.container);
  if (holding == nullptr) return;
  holding->assigned = edit.cpus;
  holding->pending.reset();
}

void apply_edit(State& state, const SetPending& edit) {
  Holding* holding = find_holding(state, edit.container);
  if (holding != nullptr) holding->pending = edit.cpus;
}

void apply_edit(State& state, const Forget& edit) {
  const auto pod = state.pods.find(edit.container.pod);
  if (pod == state.pods.end()) return;
  pod->second.erase(edit.container.container);
  if (pod->second.empty()) state.pods.erase(pod);
}

void apply_edit(State& state, const SetReuse& edit) { state.reuse = edit.reuse; }

}  // namespace

const Holding* State::find(const ContainerRef& ref) const {
  const auto pod = pods.find(ref.pod);
  if (pod == pods.end()) return nullptr;
  const auto container = pod->second.find(ref.container);
  return container == pod->second.end() ? nullptr : &container->second;
}

CpuSet State::exclusive() const {
  CpuSet all;
  for (const auto& [pod, containers] : pods) {
    for (const auto& [name, holding] : containers) all |= holding.assigned;
  }
  return all;
}

void apply(State& state, const Edit& edit) {
  std::visit([&state](const auto& typed) { apply_edit(state, typed); }, edit);
}

}  // namespace corehold
