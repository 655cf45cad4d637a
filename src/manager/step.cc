// SPDX-License-Identifier: Apache-2.0
#include "manager/step.h"

#include "manager/converge.h"
#include "manager/cpusets.h"
#include "manager/delay.h"
#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/placement.h"
#include "manager/reconcile.h"
#include "manager/recover.h"
#include "manager/resizing.h"
#include "manager/saving.h"
#include "manager/turn.h"

namespace corehold {
namespace {

void on_save_retry(Turn& turn, const ContainerRef& about) {
  if (about.pod.empty()) {
    turn.node.checkpoint_waits = false;
  } else if (PodState* pod = find_pod(turn.node, about.pod)) {
    pod->save_waits = false;
  }
}

void on_retry(Turn& turn, const ContainerRef& about) {
  if (about.container.empty()) {
    if (PodState* pod = find_pod(turn.node, about.pod)) pod->tell_waits = false;
  } else if (ContainerState* container = find_container(turn.node, about)) {
    container->cpuset_waits = false;
  }
}

void on_timer(Turn& turn, const TimerFired& command) {
  const ContainerRef& about = command.timer.about;
  switch (command.timer.kind) {
    case TimerKey::Kind::kRestart:
      if (ContainerState* container = find_container(turn.node, about)) {
        container->backing_off = false;
      }
      return;
    case TimerKey::Kind::kKill:
      return about.container.empty() ? on_kill_timer(turn, about.pod)
                                     : on_restart_timer(turn, about);
    case TimerKey::Kind::kRetry:
      return on_retry(turn, about);
    case TimerKey::Kind::kSaveRetry:
      return on_save_retry(turn, about);
    case TimerKey::Kind::kReconcile:
      return on_reconcile_timer(turn);
    case TimerKey::Kind::kDelay:
      return on_delay_timer(turn, about);
  }
}

struct Dispatch {
  Turn& turn;

  void operator()(const Recover& command) const { on_recover(turn, command); }
  void operator()(const CreatePod& command) const { on_create(turn, command); }
  void operator()(const UpdatePod& command) const { on_update(turn, command); }
  void operator()(const ResizePod& command) const { on_resize(turn, command); }
  void operator()(const SetCordon& command) const { on_cordon(turn, command); }
  void operator()(const DeletePod& command) const { on_delete(turn, command); }
  void operator()(const PodSaved& command) const { on_pod_saved(turn, command); }
  void operator()(const PodForgotten& command) const { on_pod_forgotten(turn, command); }
  void operator()(const CheckpointSaved& command) const { on_checkpoint_saved(turn, command); }
  void operator()(const PodInfoWritten& command) const { on_podinfo_written(turn, command); }
  void operator()(const CpusetApplied& command) const { on_cpuset_applied(turn, command); }
  void operator()(const CpusetFailed& command) const { on_cpuset_failed(turn, command); }
  void operator()(const ContainerStarted& command) const { on_started(turn, command); }
  void operator()(const StartFailed& command) const { on_start_failed(turn, command); }
  void operator()(const TimerFired& command) const { on_timer(turn, command); }
  void operator()(const Observed& command) const { on_observed(turn, command); }
  void operator()(const ObserveFailed& command) const { on_observe_failed(turn, command); }
  void operator()(const ContainerExited& command) const { on_exited(turn, command); }
};

}  // namespace

Outcome step(const ManagerRules& rules, NodeState node, const Command& command, const Now& now) {
  return step(rules, std::move(node), std::span(&command, 1), now);
}

Outcome step(const ManagerRules& rules, NodeState node, std::span<const Command> commands,
             const Now& now) {
  Outcome outcome{.node = std::move(node)};
  Turn turn{.rules = rules, .node = outcome.node, .now = now, .effects = outcome.effects};
  for (const Command& command : commands) std::visit(Dispatch{turn}, command);
  converge(turn);
  return outcome;
}

}  // namespace corehold
