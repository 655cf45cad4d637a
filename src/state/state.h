// SPDX-License-Identifier: Apache-2.0
//
// State: who holds which CPUs. A value. start(), a conversion and a checkpoint make
// new ones; otherwise it is changed only by applying an Edit.
// For each exclusive container it knows the assigned set (what it has), the
// promised set (what it started with and never loses) and, while a shrink is
// under way, the pending set (what it will keep).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"
#include "state/cpu_holdings.h"

namespace corehold {

// CPUs that finished init containers of one pod leave to its later containers.
// Only the pod being admitted has any, as in the kubelet; not persisted.
struct Reuse {
  std::string pod{};
  CpuSet cpus{};

  bool operator==(const Reuse&) const = default;
};

struct State {
  std::string policy{};  // name of the policy that made it; "" for none yet
  CpuSet shared{};       // the default set: everybody without exclusive CPUs runs here
  CpuHoldings pods{};    // by pod UID and container name
  Reuse reuse{};

  // Null when the container holds nothing.
  const Holding* find(std::string_view pod, std::string_view container) const {
    return pods.find(pod, container);
  }
  const Holding* find(const ContainerRef& ref) const { return find(ref.pod, ref.container); }
  // Union of all assigned sets.
  const CpuSet& exclusive() const { return pods.held(); }

  bool operator==(const State&) const = default;
};

// The edits. A Plan is a list of them.
struct SetShared {
  CpuSet cpus;
};
// Gives a container its first CPUs: they are assigned and promised.
struct Assign {
  ContainerRef container;
  CpuSet cpus;
};
// Gives a container that has CPUs other ones. What it was promised stays promised; a shrink
// that was under way is over. Without effect on a container that holds nothing.
struct Reassign {
  ContainerRef container;
  CpuSet cpus;
};
// A shrink is under way, and this is what the container will keep; no value: none is.
// Without effect on a container that holds nothing.
struct SetPending {
  ContainerRef container;
  std::optional<CpuSet> cpus;
};
// Forgets the container; where its CPUs go is a SetShared of its own.
struct Forget {
  ContainerRef container;
};
struct SetReuse {
  Reuse reuse;
};
using Edit = std::variant<SetShared, Assign, Reassign, SetPending, Forget, SetReuse>;

// Applies one edit in place. A container that is forgotten twice is no error.
void apply(State& state, const Edit& edit);

}  // namespace corehold
