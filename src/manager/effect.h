// SPDX-License-Identifier: Apache-2.0
//
// Effects: everything the manager can want done, as plain values. The shell runs them in
// the order given and reports each result as the command named beside it. An effect whose
// right to happen depends on another's success is not emitted before that one's result
// has come back, so a shell that runs them in order cannot break a promise.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "manager/command.h"

namespace corehold {

// -> PodSaved
struct SavePod {
  PodRecord record{};
};
// Removes the record from the store. -> PodForgotten
struct ForgetPod {
  std::string uid{};
};
// -> CheckpointSaved
struct PersistCheckpoint {
  std::uint64_t revision = 0;
  State state{};
};
// Writes the files of the pod's downwardAPI volumes. -> PodInfoWritten
struct WritePodInfo {
  std::string uid{};
  AssignedByContainer assigned{};
};
// Of a container that runs. -> CpusetApplied or CpusetFailed
struct SetCpuset {
  ContainerRef container{};
  CpuSet cpus{};
  std::optional<NodeSet> mems{};  // no value: memory is not pinned
  Terms terms{};
};
// -> ContainerStarted or StartFailed, later ContainerExited
struct StartContainer {
  ContainerRef container{};
  int attempt = 0;
  CpuSet cpus{};
  std::optional<NodeSet> mems{};
  Terms terms{};
};
enum class StopSignal { kTerminate, kKill };
// No result: the container ends, or a timer asks again.
struct SignalContainer {
  ContainerRef container{};
  StopSignal signal = StopSignal::kTerminate;
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
// Adds one to a counter with these labels.
struct CountMetric {
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::optional<double> observed{};  // by a histogram; no value: a counter counts one more
};
// Answers the CreatePod or DeletePod with that id.
struct Reply {
  RequestId request = 0;
  std::optional<Error> error{};
};

using Effect = std::variant<SavePod, ForgetPod, PersistCheckpoint, WritePodInfo, SetCpuset,
                            StartContainer, SignalContainer, RemoveContainer, RemovePodFiles,
                            StartTimer, CancelTimer, Observe, EmitEvent, CountMetric, Reply>;

}  // namespace corehold
