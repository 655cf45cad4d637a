// SPDX-License-Identifier: Apache-2.0
#include "manager/converge.h"

#include <utility>

#include <fmt/format.h>

#include "manager/cpusets.h"
#include "manager/delay.h"
#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/placement.h"
#include "manager/resize_course.h"
#include "manager/resize_events.h"
#include "manager/saving.h"
#include "manager/taking.h"

namespace corehold {
namespace {

// Whether the files of the pod say something else of it than it does. Of an edit nothing is said
// before it is in the store; of an amount granted, before the container has it, unless the CPUs
// that it keeps are told.
bool is_outdated(const PodState& pod) {
  if (pod.told_of.texts != pod.version.texts && !pod.edit) return true;
  return pod.told_of.grants != pod.version.grants && !is_resizing(pod.record);
}

void tell_pods(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.admitted || pod.telling || pod.tell_waits || is_stopping(pod)) continue;
    // An agent before this one may have told of a resize already, and it is not decided again
    // before the pod is saved.
    const bool is_resized = pod.record.wish || is_resizing(pod.record);
    if (!pod.told && !pod.saved && is_resized) continue;
    const bool outdated = is_outdated(pod);
    // Else only a resize changes what was told once.
    if (pod.told && !outdated && !is_resizing(pod.record)) continue;
    AssignedByContainer shown;
    for (const auto& [name, container] : pod.containers) {
      shown[name] = shown_cpus(turn.rules, turn.node, {uid, name}, pod);
    }
    if (pod.told == shown && !outdated) continue;
    pod.telling = shown;
    pod.telling_of = pod.version;
    turn.emit(WritePodInfo{.uid = uid, .assigned = std::move(shown)});
  }
}

}  // namespace

void on_podinfo_written(Turn& turn, const PodInfoWritten& command) {
  PodState* pod = find_pod(turn.node, command.uid);
  if (pod == nullptr || !pod->telling) return;
  const auto written = std::exchange(pod->telling, std::nullopt);
  if (!command.error) {
    watch_files(turn, *pod, *written);
    pod->told = written;
    pod->told_of = pod->telling_of;
    pod->tell_failures = 0;
    clear_resize_error(*pod, "");
    return;
  }
  watch_failed_files(*pod, *written);
  // What the files say now is not known.
  pod->told.reset();
  pod->tell_waits = true;
  const std::string message =
      fmt::format("cannot write the pod's files: {}", command.error->message);
  turn.warn({command.uid, ""}, "FailedPodInfo", message);
  report_resize_error(turn, {command.uid, ""}, message);
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, {command.uid, ""}},
                       .after = retry_delay(++pod->tell_failures)});
}

void converge(Turn& turn) {
  refuse_unsupported(turn);
  delay_shrinks(turn);
  place_pods(turn);
  // A resize is told before it is saved again: its wish is in the store, and what becomes
  // of a wish is the same after a crash.
  tell_pods(turn);
  // What the files have said already, nobody will say again.
  while (delay_shrinks(turn)) {
    place_pods(turn);
    tell_pods(turn);
  }
  complete_resizes(turn);
  start_over(turn);
  save_pods(turn);
  set_cpusets(turn);
  start_containers(turn);
  stop_containers(turn);
  remove_ended(turn);
  forget_pods(turn);
}

}  // namespace corehold
