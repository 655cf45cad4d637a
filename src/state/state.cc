// SPDX-License-Identifier: Apache-2.0
#include "state/state.h"

namespace corehold {
namespace {

void apply_edit(State& state, const SetShared& edit) { state.shared = edit.cpus; }

void apply_edit(State& state, const Assign& edit) {
  state.pods.set(edit.container.pod, edit.container.container,
                 Holding{.assigned = edit.cpus, .promised = edit.cpus});
}

void apply_edit(State& state, const Reassign& edit) {
  const Holding* holding = state.find(edit.container);
  if (holding == nullptr) return;
  state.pods.set(edit.container.pod, edit.container.container,
                 Holding{.assigned = edit.cpus, .promised = holding->promised});
}

void apply_edit(State& state, const SetPending& edit) {
  const Holding* holding = state.find(edit.container);
  if (holding == nullptr) return;
  state.pods.set(
      edit.container.pod, edit.container.container,
      Holding{.assigned = holding->assigned, .promised = holding->promised, .pending = edit.cpus});
}

void apply_edit(State& state, const Forget& edit) {
  state.pods.erase(edit.container.pod, edit.container.container);
}

void apply_edit(State& state, const SetReuse& edit) { state.reuse = edit.reuse; }

}  // namespace

void apply(State& state, const Edit& edit) {
  std::visit([&state](const auto& typed) { apply_edit(state, typed); }, edit);
}

}  // namespace corehold
