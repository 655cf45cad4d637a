// SPDX-License-Identifier: Apache-2.0
#include "manager/step.h"

#include <utility>

#include <fmt/format.h>

#include "manager/foreign/adopting.h"
#include "manager/foreign/questions.h"
#include "manager/placing/admitting.h"
#include "manager/placing/cpusets.h"
#include "manager/placing/facts.h"
#include "manager/placing/fence.h"
#include "manager/placing/placing.h"
#include "manager/placing/shrink_delay.h"
#include "manager/placing/telling.h"
#include "manager/reconcile.h"
#include "manager/recover.h"
#include "manager/running/lifecycle.h"
#include "manager/running/running.h"
#include "manager/running/saving.h"

namespace corehold {
namespace {

// One step() under way: both halves.
struct Step {
  NodeState& node;
  PlacingTurn& placing;
  RunningTurn& running;
  ForeignTurn& foreign;

  // Whether somebody else runs the containers.
  bool is_foreign() const { return placing.rules.driver == Driver::kForeign; }

  void operator()(const Recover& command) const {
    is_foreign() ? on_recover_foreign(foreign, command) : on_recover(running, command);
  }
  void operator()(const CreatePod& command) const { on_create(running, command); }
  void operator()(const UpdatePod& command) const { on_update(running, command); }
  void operator()(const ResizePod& command) const { on_resize(running, command); }
  void operator()(const SetCordon& command) const {
    on_cordon(placing, command);
    for (const std::string& uid : node.placing.waiting) running.touch(uid);
  }
  void operator()(const DeletePod& command) const { on_delete(running, command); }
  void operator()(const PodSaved& command) const { on_pod_saved(running, command); }
  void operator()(const PodForgotten& command) const {
    const Forgotten forgotten = on_pod_forgotten(running, command);
    if (forgotten == Forgotten::kYes && node.observing) node.gone_meanwhile.insert(command.uid);
  }
  void operator()(const CheckpointSaved& command) const { on_checkpoint_saved(placing, command); }
  void operator()(const PodInfoWritten& command) const { on_podinfo_written(placing, command); }
  void operator()(const CpusetApplied& command) const { on_cpuset_applied(placing, command); }
  void operator()(const CpusetFailed& command) const { on_cpuset_failed(placing, command); }
  void operator()(const SharedCpusApplied& command) const {
    on_shared_cpus_applied(placing, command);
  }
  void operator()(const SharedCpusFailed& command) const {
    on_shared_cpus_failed(placing, command);
  }
  void operator()(const Isolated& command) const { on_isolated(placing, command); }
  void operator()(const IsolateFailed& command) const { on_isolate_failed(placing, command); }
  void operator()(const ContainerStarted& command) const {
    is_foreign() ? on_started_foreign(foreign, command) : on_started(running, command);
  }
  void operator()(const StartFailed& command) const { on_start_failed(running, command); }
  void operator()(const TimerFired& command) const { on_timer(command.timer); }
  void operator()(const Observed& command) const {
    is_foreign() ? on_observed(node, foreign, command) : on_observed(node, running, command);
  }
  void operator()(const ObserveFailed& command) const { on_observe_failed(node, running, command); }
  void operator()(const ContainerExited& command) const {
    is_foreign() ? on_exited_foreign(foreign, command) : on_exited(running, command);
  }
  void operator()(const Asked& command) const {
    is_foreign() ? on_asked(foreign, command) : refuse(command);
  }
  void operator()(const Synchronized& command) const {
    is_foreign() ? on_synchronized(foreign, command) : on_reconcile_timer(node, running);
  }
  void operator()(const PodRemoved& command) const { on_pod_removed(foreign, command); }
  void operator()(const CgroupCreated&) const { recheck_fence(placing); }

  // Here the node tells its runtime what to start.
  void refuse(const Asked& command) const {
    const std::string& name = command.ask.container.container;
    running.emit(Reply{.request = command.request,
                       .error = Error{Code::kUnsupported,
                                      fmt::format("container {}: this node runs its containers "
                                                  "itself and grants nothing to others",
                                                  name)}});
  }

  void on_timer(const TimerKey& timer) const;
  void on_retry(const ContainerRef& about) const;
  void converge_running() const;
  void converge_foreign() const;
  // Everything that is wanted, not yet so, and permitted by what has been confirmed becomes an
  // effect.
  void converge() const { is_foreign() ? converge_foreign() : converge_running(); }
};

void Step::on_retry(const ContainerRef& about) const {
  if (about.pod.empty()) {
    node.placing.pool.setting.retry();
    return;
  }
  if (about.container.empty()) {
    if (PlacedPod* pod = find_pod(node.placing, about.pod)) pod->files.writing.retry();
  } else if (PlacedContainer* container = find_container(node.placing, about)) {
    container->setting.retry();
  }
  placing.touch(about.pod);
}

void Step::on_timer(const TimerKey& timer) const {
  const ContainerRef& about = timer.about;
  switch (timer.kind) {
    case TimerKey::Kind::kRestart:
      return on_restart_timer(running, about);
    case TimerKey::Kind::kRetry:
      return on_retry(about);
    case TimerKey::Kind::kSaveRetry:
      return about.pod.empty() ? on_checkpoint_retry(placing) : on_save_retry(running, about.pod);
    case TimerKey::Kind::kReconcile:
      return on_reconcile_timer(node, running);
    case TimerKey::Kind::kDelay:
      return on_delay_timer(placing, about);
    case TimerKey::Kind::kAnswer:
      return on_answer_timer(foreign, about);
    case TimerKey::Kind::kFence:
      return node.placing.fence.setting.retry();
  }
}

void Step::converge_running() const {
  report_pods(running);
  decide_placing(placing);
  take_notices(running, placing.notices);
  save_pods(running);
  set_placing(placing);
  run_pods(running);
}

void Step::converge_foreign() const {
  do {
    decide_placing(placing);
  } while (confirm_notices(foreign, placing.notices));
  set_placing(placing);
  answer_questions(foreign);
  for (const std::string& uid : drop_removed(foreign)) {
    if (node.observing) node.gone_meanwhile.insert(uid);
  }
}

}  // namespace

Outcome step(const ManagerRules& rules, NodeState node, const Command& command, const Now& now) {
  return step(rules, std::move(node), std::span(&command, 1), now);
}

Outcome step(const ManagerRules& rules, NodeState node, std::span<const Command> commands,
             const Now& now) {
  Outcome outcome{.node = std::move(node)};
  // Effects hold records and the checkpoint: a growing list would copy them again and again.
  constexpr std::size_t kUsualEffects = 32;
  outcome.effects.reserve(kUsualEffects);
  std::vector<Notice> notices;
  PlacingTurn placing{
      {.rules = rules, .now = now, .effects = outcome.effects}, outcome.node.placing, notices};
  RunningTurn running{
      {.rules = rules, .now = now, .effects = outcome.effects}, outcome.node.running, placing};
  ForeignTurn foreign{
      {.rules = rules, .now = now, .effects = outcome.effects}, outcome.node.foreign, placing};
  const Step turn{.node = outcome.node, .placing = placing, .running = running, .foreign = foreign};
  for (const Command& command : commands) std::visit(turn, command);
  turn.converge();
  std::set<std::string>& touched = outcome.node.running.work;
  touched.insert(outcome.node.placing.work.begin(), outcome.node.placing.work.end());
  outcome.touched_pods.assign(touched.begin(), touched.end());
  touched.clear();
  end_placing(placing);
  return outcome;
}

}  // namespace corehold
