// SPDX-License-Identifier: Apache-2.0
#include "manager/converge.h"

#include <fmt/format.h>

#include "manager/cpusets.h"
#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/placement.h"
#include "manager/saving.h"

namespace corehold {
namespace {

void tell_pods(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.admitted || pod.told || pod.telling || pod.tell_waits || is_stopping(pod)) continue;
    WritePodInfo write{.uid = uid};
    for (const auto& [name, container] : pod.containers) {
      AssignedCpus& assigned = write.assigned[name];
      const Holding* holding = turn.node.durable.find({uid, name});
      if (holding == nullptr) continue;
      assigned.cpus = holding->assigned;
      assigned.mems = turn.rules.admission.topology.nodes_of(holding->assigned);
    }
    pod.telling = true;
    turn.emit(std::move(write));
  }
}

}  // namespace

void on_podinfo_written(Turn& turn, const PodInfoWritten& command) {
  PodState* pod = find_pod(turn.node, command.uid);
  if (pod == nullptr || !pod->telling) return;
  pod->telling = false;
  if (!command.error) {
    pod->told = true;
    pod->tell_failures = 0;
    return;
  }
  pod->tell_waits = true;
  turn.warn({command.uid, ""}, "FailedPodInfo",
            fmt::format("cannot write the pod's files: {}", command.error->message));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, {command.uid, ""}},
                       .after = retry_delay(++pod->tell_failures)});
}

void converge(Turn& turn) {
  place_pods(turn);
  save_pods(turn);
  tell_pods(turn);
  set_cpusets(turn);
  start_containers(turn);
  stop_containers(turn);
  remove_ended(turn);
  forget_pods(turn);
}

}  // namespace corehold
