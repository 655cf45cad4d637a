// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/telling.h"

#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/resize_events.h"
#include "manager/placing/taking.h"

namespace corehold {
namespace {

// Whether the files of the pod say something else of it than it does. Of an amount granted nothing
// is said before the container has it, unless the CPUs that it keeps are told.
bool is_outdated(const PlacedPod& pod) {
  if (pod.files.told_of.texts != pod.version.texts) return true;
  return pod.files.told_of.grants != pod.version.grants && !is_resizing(pod);
}

}  // namespace

void tell_pod(PlacingTurn& turn, const std::string& uid, PlacedPod& pod) {
  FilesState& files = pod.files;
  if (!is_admitted(pod) || !files.writing.may_ask() || is_stopping(pod)) return;
  // An agent before this one may have told of a resize already, and the resize is not decided again
  // before the pod is firm.
  const bool is_resized = pod.resize.wish || is_resizing(pod);
  if (!files.told && !pod.is_firm && is_resized) return;
  const bool outdated = is_outdated(pod);
  // Else only a resize changes what was told once.
  if (files.told && !outdated && !is_resizing(pod)) return;
  AssignedByContainer shown;
  for (const auto& [name, container] : pod.containers) {
    shown[name] = shown_cpus(turn.rules, turn.placing, {uid, name}, pod);
  }
  if (files.told == shown && !outdated) return;
  files.writing.ask();
  files.telling = shown;
  files.telling_of = pod.version;
  turn.emit(WritePodInfo{
      .uid = uid, .pod = std::make_shared<const Pod>(pod.pod), .assigned = std::move(shown)});
}

void on_podinfo_written(PlacingTurn& turn, const PodInfoWritten& command) {
  PlacedPod* pod = find_pod(turn.placing, command.uid);
  if (pod == nullptr || !pod->files.writing.is_asked()) return;
  FilesState& files = pod->files;
  turn.touch(command.uid);
  const auto written = std::exchange(files.telling, std::nullopt);
  if (!command.error) {
    watch_files(turn, *pod, *written);
    files.told = written;
    files.told_of = files.telling_of;
    files.writing.succeed();
    clear_resize_error(*pod, "");
    return;
  }
  watch_failed_files(*pod, *written);
  // What the files say now is not known.
  files.told.reset();
  const std::string message =
      fmt::format("cannot write the pod's files: {}", command.error->message);
  turn.warn({command.uid, ""}, "FailedPodInfo", message);
  report_resize_error(turn, {command.uid, ""}, message);
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, {command.uid, ""}},
                       .after = files.writing.fail()});
}

}  // namespace corehold
