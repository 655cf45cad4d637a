// SPDX-License-Identifier: Apache-2.0
//
// Effects: everything the manager can want done, as plain values. The shell runs them in
// the order given and reports each result as the command named beside it. An effect whose
// right to happen depends on another's success is not emitted before that one's result
// has come back, so a shell that runs them in order cannot break a promise.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "manager/command.h"
#include "manager/placing/placing_state.h"
#include "state/state_delta.h"

namespace corehold {

// What a record survives once it is confirmed.
enum class Durability {
  kSynced,  // everything: a client or a promise relies on it
  // The end of the agent. A power cut loses what has not been followed by a record that is kSynced:
  // recovery decides the same without it.
  kLazy,
};
// -> PodSaved
struct SavePod {
  PodRecord record{};
  Durability durability = Durability::kSynced;
};
// Removes the record from the store. -> PodForgotten
struct ForgetPod {
  std::string uid{};
  Durability durability = Durability::kSynced;
};
// Writes the checkpoint anew, whole. The effect has only what may differ from the last checkpoint
// that was saved: the shell keeps a copy of the State, to which each delta is applied before the
// copy is written. The first of each life of the manager has all pods. What a failed write was to
// change is in the next delta again, with what became of it. -> CheckpointSaved
struct PersistCheckpoint {
  std::uint64_t revision = 0;
  StateDelta delta{};
};
// Writes the files of the pod's downwardAPI volumes. -> PodInfoWritten
struct WritePodInfo {
  std::string uid{};
  std::shared_ptr<const Pod> pod{};  // as the store has it, with what was granted; never null
  AssignedByContainer assigned{};
};
// Of a container that runs. -> CpusetApplied or CpusetFailed
struct SetCpuset {
  ContainerRef container{};
  Placement placement{};
};
// Puts all containers without CPUs of their own there, together with those that start from now on.
// -> SharedCpusApplied or SharedCpusFailed
struct SetSharedCpus {
  CpuSet cpus{};
};
// Keeps everything else of the machine off these CPUs and off no others; asked for again it finds
// what has come since. -> Isolated or IsolateFailed
struct Isolate {
  CpuSet held{};
};
// A container without CPUs of its own starts where the others that share are.
// -> ContainerStarted or StartFailed, later ContainerExited
struct StartContainer {
  ContainerRef container{};
  int attempt = 0;
  std::shared_ptr<const Pod> pod{};  // as it is on record; never null
  Source source = Source::kApi;
  Placement placement{};
};
// Asks the container to end and kills it if it has not by then. Asking again with less time
// shortens it. No result: the container ends. -> ContainerExited
struct StopContainer {
  ContainerRef container{};
  std::chrono::milliseconds grace{};
};
// What the runtime keeps of a container that has ended. Its log stays until the pod goes.
struct RemoveContainer {
  ContainerRef container{};
};
// What the node keeps of a pod on disk besides: volumes, podinfo, logs.
struct RemovePodFiles {
  std::string uid{};
};
// -> TimerFired. Starting one that runs starts it anew.
struct StartTimer {
  TimerKey timer{};
  std::chrono::milliseconds after{};
};
struct CancelTimer {
  TimerKey timer{};
};
// -> Observed or ObserveFailed
struct Observe {};
// A Kubernetes event; `about.container` is empty for the pod, both for the node.
struct EmitEvent {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  ContainerRef about{};
  std::string reason{};  // "Started", "FailedStart", "CpusetDriftRepaired", ...
  std::string message{};
};
// Adds to a counter with these labels.
struct CountMetric {
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::optional<double> observed{};  // by a histogram; no value: a counter counts so many more
  int more = 1;
};
// Answers the CreatePod, DeletePod or Asked with that id; no error: yes.
struct Reply {
  RequestId request = 0;
  std::optional<Error> error{};
  std::optional<Grant> grant{};  // Asked, and granted
};

using Effect =
    std::variant<SavePod, ForgetPod, PersistCheckpoint, WritePodInfo, SetCpuset, SetSharedCpus,
                 Isolate, StartContainer, StopContainer, RemoveContainer, RemovePodFiles,
                 StartTimer, CancelTimer, Observe, EmitEvent, CountMetric, Reply>;

}  // namespace corehold
