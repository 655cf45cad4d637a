// SPDX-License-Identifier: Apache-2.0
//
// Commands: everything that can happen to a node, as plain values. People ask for
// something, the shell reports what came of an effect, the runtime says what it sees.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "container/ask.h"
#include "container/seen_container.h"
#include "isolation/change.h"
#include "manager/record.h"
#include "state/state.h"

namespace corehold {

// A timer by what it is for. `container` is empty for timers of a pod or the node.
struct TimerKey {
  enum class Kind { kRestart, kRetry, kSaveRetry, kReconcile, kDelay, kAnswer, kFence };
  Kind kind = Kind::kReconcile;
  ContainerRef about{};

  auto operator<=>(const TimerKey&) const = default;
};

// The first command of every life: what was stored and what is there.
struct Recover {
  std::vector<PodRecord> pods{};
  State cpus{};  // from the checkpoint, past Policy::start()
  std::vector<SeenContainer> seen{};
  CpuSet online{};
  bool cordoned = false;
  // Pods that the store had and has forgotten: what is left of their files may be removed. Those
  // of other pods that are not known are left: a store may have been lost.
  std::set<std::string> forgotten{};
};

struct CreatePod {
  Pod pod{};  // validated, defaulted, with a UID that is new
  Source source = Source::kApi;
  RequestId request = 0;
};
// The pod with that UID says something else of itself from now on: labels, annotations, fields
// that mean nothing to its CPUs. Its containers and what they ask for are those it had, else
// the answer is kInvalid. While an earlier change is not in the store: kConflict.
struct UpdatePod {
  Pod pod{};
  bool is_new_spec = false;  // it counts as a generation
  RequestId request = 0;
};
// The pod with that UID asks for other resources from now on; all else is as it was, or the
// answer is kInvalid. Done when the wish is in the store; whether it is granted shows later.
// While an earlier change is not in the store: kConflict.
struct ResizePod {
  Pod pod{};
  RequestId request = 0;
};
// Whether pods of the API that wait have to go on waiting, room or not (kubectl cordon).
struct SetCordon {
  bool cordoned = false;
};
// Deleting twice is no error; a shorter grace counts.
struct DeletePod {
  std::string uid{};
  std::optional<std::chrono::seconds> grace{};  // no value: the pod's own
  RequestId request = 0;
};

// Results of effects. No error: done.
struct PodSaved {
  std::string uid{};
  std::optional<Error> error{};
};
struct PodForgotten {
  std::string uid{};
  std::optional<Error> error{};
};
struct CheckpointSaved {
  std::uint64_t revision = 0;
  std::optional<Error> error{};
};
struct PodInfoWritten {
  std::string uid{};
  std::optional<Error> error{};
};
struct CpusetApplied {
  ContainerRef container{};
  CpuSet cpus{};
};
// kConflict: its CPUs are set, its memory limit is not, because it uses more. kUnsupported: all is
// set, but the kernel makes no partition of its CPUs.
struct CpusetFailed {
  ContainerRef container{};
  CpuSet cpus{};
  Error error{};
};
// The containers without CPUs of their own are all on these CPUs, and containers that start join
// them there.
struct SharedCpusApplied {
  CpuSet cpus{};
};
struct SharedCpusFailed {
  CpuSet cpus{};
  Error error{};
};
// Everything else of the machine is off these CPUs, but for what is named.
struct Isolated {
  CpuSet held{};
  std::vector<Leftover> leftovers{};
  std::vector<std::string> displaced{};  // tasks that were pinned to these CPUs and to no others
  int pins_restored = 0;                 // of other tasks, which a change of their cpuset had reset
};
struct IsolateFailed {
  CpuSet held{};
  Error error{};
};
struct ContainerStarted {
  ContainerRef container{};
  int attempt = 0;
};
struct StartFailed {
  ContainerRef container{};
  int attempt = 0;
  Error error{};
};
struct TimerFired {
  TimerKey timer{};
};
// Answers Observe.
struct Observed {
  std::vector<SeenContainer> seen{};
  CpuSet online{};
};
struct ObserveFailed {
  Error error{};
};

// From the runtime, at any time.
struct ContainerExited {
  ContainerRef container{};
  int attempt = 0;
  ContainerExit exit{};
};

// From a runtime that runs containers for somebody else (manager/foreign). Such a runtime also
// tells of each start and end of a container (ContainerStarted, ContainerExited), as far as these
// reach the agent.
struct Asked {
  Ask ask{};
  RequestId request = 0;
};
// The runtime has connected anew. What it tells of is all it has: questions from before are void.
// Where this agent runs the containers it has the node look at once.
struct Synchronized {
  std::vector<SeenContainer> seen{};  // with their pods, as these are wished for
  CpuSet online{};
};
// The runtime has removed the pod and all of its containers.
struct PodRemoved {
  std::string uid{};
};

// From the kernel, at any time: somebody has made a cgroup beside those of containers. Whatever
// comes into it has to be kept off held CPUs too.
struct CgroupCreated {};

using Command =
    std::variant<Recover, CreatePod, UpdatePod, ResizePod, SetCordon, DeletePod, PodSaved,
                 PodForgotten, CheckpointSaved, PodInfoWritten, CpusetApplied, CpusetFailed,
                 SharedCpusApplied, SharedCpusFailed, Isolated, IsolateFailed, ContainerStarted,
                 StartFailed, TimerFired, Observed, ObserveFailed, ContainerExited, Asked,
                 Synchronized, PodRemoved, CgroupCreated>;

}  // namespace corehold
