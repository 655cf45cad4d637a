// SPDX-License-Identifier: Apache-2.0
//
// A Policy decides which CPUs a container gets. It only decides: it reads a State
// and answers with a Plan, the edits that would bring about its decision. A
// Policy has no mutable state, so the same state and request always give the same
// answer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "alloc/resize.h"
#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "hints/hint.h"
#include "pod/pod.h"
#include "pod/quiet_request.h"
#include "state/state.h"

namespace corehold {

// One container at the door.
struct Request {
  ContainerRef container;
  Container::Kind kind = Container::Kind::kApp;
  int cpus = 0;                       // exclusive CPUs it is entitled to; 0 or less: it shares
  std::optional<NodeSet> affinity{};  // NUMA nodes chosen by the topology manager
  // The pod's containers that run as long as it does: apps and sidecars. Nobody reuses
  // their CPUs.
  std::vector<std::string> lasting{};
  // What its pod asks for beside their number: one that wants a partition is better off on CPUs
  // that the kernel's command line has made quiet, and is given those where they suffice.
  CpuPartition partition = CpuPartition::kNone;
};

// Edits to apply in order, and what the container has afterwards.
struct Plan {
  std::vector<Edit> edits{};
  CpuSet granted{};  // empty: it runs in the shared pool
};

// What a policy asks of CPUs that change hands in a resize.
struct ResizeTerms {
  CpuSet reserved{};      // never given
  int fewest_shared = 1;  // CPUs that the shared pool keeps
  ResizeOptions options{};
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;

  // Whether this policy can go on from `state`, which may come from a checkpoint. The
  // result is that state, with the shared pool filled in if it was new.
  //
  // Fails with kConflict when state, machine and configuration contradict each other.
  virtual Result<State> start(State state) const = 0;

  // The NUMA nodes on which the container's request could be met, by what is free now; a
  // container that has its CPUs already is met where they are. No value: it does not
  // care. A family without hints: nowhere.
  virtual std::optional<HintFamily> hints(const State& state, const Request& request) const = 0;
  // The same for all containers of a pod together. `requests`: one for each container, in
  // starting order.
  virtual std::optional<HintFamily> pod_hints(const State& state,
                                              const std::vector<Request>& requests) const = 0;

  // The CPUs of which the container could be given some, as far as they are near the
  // affinity, if it has one; those it has, if it has any, and none if it is not entitled
  // to its own. Unlike hints(), which follow the kubelet, they leave out CPUs that are
  // free but cannot be given, such as those of a core in use.
  virtual CpuSet candidates(const State& state, const Request& request) const = 0;

  // The edits that give the container its CPUs. A container that already has CPUs
  // keeps them: the Plan then changes nobody's CPUs.
  //
  // Fails with kExhausted when too few CPUs are free, and kUnaligned when whole cores
  // are required and the request cannot be made of them.
  virtual Result<Plan> allocate(const State& state, const Request& request) const = 0;

  // How resizes are decided (resize.h). No value: the policy gives no exclusive CPUs, so
  // there are none to resize.
  virtual std::optional<ResizeTerms> resize_terms() const = 0;

  // The edits that return the container's CPUs to the shared pool, but for those that
  // others use: containers of its pod, or, on from a damaged checkpoint, any. Releasing an unknown
  // container is an empty Plan, so that retries are harmless.
  virtual Plan release(const State& state, const ContainerRef& container) const = 0;
};

// Applies all edits of a Plan.
void apply(State& state, const Plan& plan);

}  // namespace corehold
