// SPDX-License-Identifier: Apache-2.0
#include "sim/pretend_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pod/scale_delay.h"
#include "policy/request.h"

namespace corehold {
namespace {

Error injected() { return {Code::kIo, "injected failure"}; }

std::optional<Error> error_of(Fault fault) {
  if (fault == Fault::kNone) return std::nullopt;
  return injected();
}

std::string name_of(const ContainerRef& ref) {
  return fmt::format("{}/{}", ref.pod, ref.container);
}

// Of the CPUs that it was put on.
CpuSet own_of(const CpuSet& cpus, const Holding& holding) { return cpus & holding.assigned; }

}  // namespace

struct PretendMachine::Executor {
  PretendMachine& machine;
  Fault fault;
  const Now& now;

  bool is_done() const { return fault != Fault::kFails; }

  std::vector<Command> operator()(const SavePod& effect) const {
    const std::string& uid = effect.record.pod.uid;
    if (is_done()) {
      machine.note_change(uid, effect.durability);
      machine.save(effect.record);
    }
    return {PodSaved{.uid = uid, .error = error_of(fault)}};
  }
  std::vector<Command> operator()(const ForgetPod& effect) const {
    if (is_done()) {
      for (const auto& [ref, container] : machine.containers_) {
        if (ref.pod != effect.uid || !container.running) continue;
        machine.breach(fmt::format("{} runs and its pod is forgotten", name_of(ref)));
      }
      machine.note_change(effect.uid, effect.durability);
      machine.records_.erase(effect.uid);
      machine.podinfo_.erase(effect.uid);
      machine.delays_.erase(effect.uid);
      std::erase_if(machine.unlisted_,
                    [&](const auto& entry) { return entry.first.pod == effect.uid; });
      ++machine.changes_;
    }
    return {PodForgotten{.uid = effect.uid, .error = error_of(fault)}};
  }
  std::vector<Command> operator()(const PersistCheckpoint& effect) const {
    if (is_done()) machine.save_checkpoint(effect.delta);
    return {CheckpointSaved{.revision = effect.revision, .error = error_of(fault)}};
  }
  std::vector<Command> operator()(const WritePodInfo& effect) const {
    if (is_done()) {
      machine.write_files(effect, now);
    }
    return {PodInfoWritten{.uid = effect.uid, .error = error_of(fault)}};
  }
  std::vector<Command> operator()(const SetCpuset& effect) const {
    if (is_done()) machine.set_cpus(effect, now);
    if (fault == Fault::kNone) {
      return {CpusetApplied{.container = effect.container, .cpus = effect.placement.cpus}};
    }
    return {CpusetFailed{
        .container = effect.container, .cpus = effect.placement.cpus, .error = injected()}};
  }
  std::vector<Command> operator()(const StartContainer& effect) const {
    if (fault != Fault::kNone) {
      return {StartFailed{
          .container = effect.container, .attempt = effect.attempt, .error = injected()}};
    }
    machine.start(effect, now);
    return {ContainerStarted{.container = effect.container, .attempt = effect.attempt}};
  }
  std::vector<Command> operator()(const SetSharedCpus& effect) const {
    if (is_done()) machine.set_shared(effect.cpus);
    if (fault == Fault::kNone) return {SharedCpusApplied{.cpus = effect.cpus}};
    return {SharedCpusFailed{.cpus = effect.cpus, .error = injected()}};
  }
  // A fence that is there may be said to leave something out; one that is not is an error.
  std::vector<Command> operator()(const Isolate& effect) const {
    machine.set_fence(effect.held, fault);
    if (fault == Fault::kFails) return {IsolateFailed{.held = effect.held, .error = injected()}};
    Isolated answer{.held = effect.held};
    if (fault == Fault::kFailsThoughDone) answer.leftovers = {{.what = "an intruder"}};
    return {std::move(answer)};
  }
  std::vector<Command> operator()(const StopContainer& effect) const {
    return machine.stop(effect, now);
  }
  std::vector<Command> operator()(const RemoveContainer& effect) const {
    machine.remove(effect.container);
    return {};
  }
  std::vector<Command> operator()(const Observe&) const {
    if (fault != Fault::kNone) return {ObserveFailed{.error = injected()}};
    return {Observed{.seen = machine.seen(),
                     .online = machine.rules_->admission.topology.cpus() - machine.offline_}};
  }
  template <typename Other>
  std::vector<Command> operator()(const Other&) const {
    return {};
  }
};

PretendMachine::PretendMachine(const ManagerRules& rules, State empty)
    : rules_(&rules), checkpoint_(std::move(empty)) {}

std::vector<Command> PretendMachine::execute(const Effect& effect, Fault fault, const Now& now) {
  return std::visit(Executor{.machine = *this, .fault = fault, .now = now}, effect);
}

// Nobody who runs is promised less, or something else, than before.
void PretendMachine::check_promises(const State& next) {
  for (const auto& [ref, container] : containers_) {
    const Holding* before = checkpoint_.find(ref);
    const Holding* after = next.find(ref);
    if (!container.running || before == nullptr || after == nullptr) continue;
    if (before->promised == after->promised) continue;
    breach(fmt::format("{} was promised CPUs {} and is now promised {}", name_of(ref),
                       before->promised.str(), after->promised.str()));
  }
}

void PretendMachine::save_checkpoint(const StateDelta& delta) {
  State state = checkpoint_;
  apply(state, delta);
  check_promises(state);
  for (const auto& [ref, container] : containers_) {
    if (!container.running || checkpoint_.find(ref) == nullptr) continue;
    const Holding* holding = state.find(ref);
    if (holding == nullptr || !container.own.is_subset_of(holding->assigned)) {
      breach(
          fmt::format("{} runs and its CPUs {} are released", name_of(ref), container.own.str()));
    }
  }
  if (rules_->pins_cpus) {
    for (const Violation& violation : violations(state, rules_->invariants)) {
      breach("checkpoint: " + violation.message);
    }
  }
  checkpoint_ = state;
  // The file does not say what is pending.
  for (const auto& [uid, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (holding.pending) apply(checkpoint_, SetPending{{uid, name}, std::nullopt});
    }
  }
  ++changes_;
  check_neighbours();
}

void PretendMachine::check_start(const StartContainer& effect) {
  const ContainerRef& ref = effect.container;
  const auto there = containers_.find(ref);
  if (there != containers_.end() && there->second.running) {
    breach(fmt::format("{} is started while it runs", name_of(ref)));
  }
  const auto last = last_run_.find(ref);
  if (last != last_run_.end() && effect.attempt <= last->second) {
    breach(fmt::format("attempt {} of {} is run twice", effect.attempt, name_of(ref)));
  }
  const auto record = records_.find(ref.pod);
  if (record == records_.end()) {
    breach(fmt::format("{} is started without a record of its pod", name_of(ref)));
    return;
  }
  const Pod& pod = record->second.pod;
  const Container* container = pod.find(ref.container);
  if (!rules_->pins_cpus || container == nullptr) return;
  const int entitled = request_of(pod, *container, std::nullopt, rules_->admission.pod_gates).cpus;
  if (entitled == 0) return;
  const Holding* holding = checkpoint_.find(ref);
  if (holding == nullptr) {
    breach(fmt::format("{} is started on CPUs {} that the checkpoint does not give it",
                       name_of(ref), effect.placement.cpus.str()));
    return;
  }
  // It may have to do without what it was told it loses, and a checkpoint that was written
  // though its writer was told otherwise may give it more than anybody knows.
  const bool resizing = record->second.wish.has_value() || is_resizing(record->second);
  const CpuSet lacking = holding->assigned - effect.placement.cpus - ever_offline_;
  const CpuSet its_own = effect.placement.cpus | (holding->assigned & ever_offline_);
  const bool right = effect.placement.cpus.is_subset_of(holding->assigned) &&
                     !lacking.intersects(told(ref)) && (resizing || its_own.size() == entitled);
  if (right) return;
  breach(fmt::format("{} is started on CPUs {}, the checkpoint gives it {}, it is entitled to {}",
                     name_of(ref), effect.placement.cpus.str(), holding->assigned.str(), entitled));
}

void PretendMachine::start(const StartContainer& effect, const Now& now) {
  check_start(effect);
  begin_run(effect.container, effect.attempt, effect.placement.cpus, now);
  containers_.at(effect.container).pod = effect.pod;
}

void PretendMachine::set_pod(const Pod& pod) {
  const auto own = own_scale_delay(pod.annotations);
  delays_[pod.uid] = own ? own->value_or(rules_->scale_delay) : rules_->scale_delay;
  pods_.insert_or_assign(pod.uid, pod);
}

int PretendMachine::entitled(const ContainerRef& ref) const {
  const auto pod = pods_.find(ref.pod);
  if (!rules_->pins_cpus || pod == pods_.end()) return 0;
  const Container* container = pod->second.find(ref.container);
  if (container == nullptr) return 0;
  return request_of(pod->second, *container, std::nullopt, rules_->admission.pod_gates).cpus;
}

void PretendMachine::check_grant(const ContainerRef& ref, const Grant& grant) {
  if (entitled(ref) == 0) return;
  const Holding* holding = checkpoint_.find(ref);
  if (holding != nullptr && grant.cpus.is_subset_of(holding->assigned)) return;
  breach(fmt::format("{} is granted CPUs {}, the checkpoint gives it {}", name_of(ref),
                     grant.cpus.str(), holding == nullptr ? "none" : holding->assigned.str()));
}

void PretendMachine::run(const ContainerRef& ref, int attempt, const Grant& grant, const Now& now) {
  check_grant(ref, grant);
  begin_run(ref, attempt, grant.cpus, now);
}

void PretendMachine::remove_pod(const std::string& uid) {
  std::erase_if(containers_, [&](const auto& entry) { return entry.first.pod == uid; });
  pods_.erase(uid);
  ++changes_;
}

void PretendMachine::begin_run(const ContainerRef& ref, int attempt, const CpuSet& cpus,
                               const Now& now) {
  const Holding* holding = checkpoint_.find(ref);
  PretendContainer& container = containers_[ref];
  // A container that shares joins the others where they are.
  const bool shares = rules_->pins_cpus && holding == nullptr;
  if (shares && !shared_) {
    breach(fmt::format("{} is started among those that share, who are nowhere", name_of(ref)));
  }
  container = PretendContainer{.attempt = attempt,
                               .running = true,
                               .cpus = shares && shared_ ? *shared_ : cpus,
                               .own = holding == nullptr ? CpuSet{} : own_of(cpus, *holding),
                               .in_pool = shares,
                               .started_at = now.wall};
  check_fence(ref, container.own);
  last_run_[ref] = attempt;
  ++starts_;
  ++changes_;
  check_neighbours();
}

CpuSet PretendMachine::told(const ContainerRef& ref) const {
  const auto pod = podinfo_.find(ref.pod);
  if (pod == podinfo_.end()) return {};
  const auto container = pod->second.find(ref.container);
  return container == pod->second.end() ? CpuSet{} : container->second.cpus;
}

// The agent may not have heard yet that a record is saved, so that the delay in the record
// before this one may still count.
void PretendMachine::save(const PodRecord& record) {
  const std::string& uid = record.pod.uid;
  const auto delay_of = [this](const PodRecord& each) {
    const auto own = own_scale_delay(each.pod.annotations);
    return own ? own->value_or(rules_->scale_delay) : rules_->scale_delay;
  };
  const auto before = records_.find(uid);
  delays_[uid] = before == records_.end() ? delay_of(record)
                                          : std::min(delay_of(record), delay_of(before->second));
  records_.insert_or_assign(uid, record);
  ever_stored_.insert(uid);
  ++changes_;
}

// Files follow a growth: what they come to list, whoever runs can run on.
void PretendMachine::check_listing(const ContainerRef& ref, const CpuSet& listed) {
  const auto found = containers_.find(ref);
  if (!rules_->pins_cpus || found == containers_.end()) return;
  const PretendContainer& container = found->second;
  if (!container.running || container.moved) return;
  const CpuSet early = listed - told(ref) - container.cpus - ever_offline_;
  if (early.empty()) return;
  breach(fmt::format("the files of {} list CPUs {}, and it is on {} still", name_of(ref),
                     early.str(), container.cpus.str()));
}

void PretendMachine::write_files(const WritePodInfo& effect, const Now& now) {
  for (const auto& [name, assigned] : effect.assigned) {
    const ContainerRef ref{effect.uid, name};
    check_listing(ref, assigned.cpus);
    std::vector<Unlisted>& unlisted = unlisted_[ref];
    for (Unlisted& each : unlisted) each.cpus -= assigned.cpus;
    std::erase_if(unlisted, [](const Unlisted& each) { return each.cpus.empty(); });
    const CpuSet gone = told(ref) - assigned.cpus;
    if (!gone.empty()) {
      unlisted.push_back({.cpus = gone, .at = now.steady, .delay = delays_[effect.uid]});
    }
  }
  podinfo_.insert_or_assign(effect.uid, effect.assigned);
  ++changes_;
}

void PretendMachine::change_agent(const ManagerRules& rules, const Now& now) {
  rules_ = &rules;
  for (auto& [ref, all] : unlisted_) {
    for (Unlisted& each : all) each.at = now.steady;
  }
}

// Nothing is taken before it was announced for the whole delay.
void PretendMachine::check_delay(const ContainerRef& ref, const CpuSet& taken, const Now& now) {
  if (taken.empty()) return;
  ++shrinks_.all;
  const auto found = unlisted_.find(ref);
  if (found == unlisted_.end()) return;
  bool is_delayed = false;
  for (const Unlisted& each : found->second) {
    if (!each.cpus.intersects(taken) || each.delay.count() == 0) continue;
    is_delayed = true;
    const SteadyTime over = now.steady - each.at - each.delay;
    shrinks_.least_over = std::min(shrinks_.least_over.value_or(over), over);
    if (over >= SteadyTime{}) continue;
    breach(fmt::format("CPUs {} are taken from {} {} ms after its files, its delay is {} ms",
                       (each.cpus & taken).str(), name_of(ref),
                       std::chrono::floor<std::chrono::milliseconds>(now.steady - each.at).count(),
                       each.delay.count()));
  }
  if (is_delayed) ++shrinks_.delayed;
}

// No CPU of its own is taken from a container that its files still promise it, and none is
// given that the checkpoint does not say is its own.
void PretendMachine::check_taking(const SetCpuset& effect, const PretendContainer& container,
                                  const Now& now) {
  // Whoever moved a container has taken from it what its files say.
  const CpuSet taken =
      container.moved ? CpuSet{} : container.own - effect.placement.cpus - ever_offline_;
  check_delay(effect.container, taken, now);
  if (taken.intersects(told(effect.container))) {
    breach(fmt::format("CPUs {} are taken from {} and its files say that they are its own",
                       (taken & told(effect.container)).str(), name_of(effect.container)));
  }
  const Holding* holding = checkpoint_.find(effect.container);
  if (holding == nullptr || effect.placement.owner == CpuOwner::kSharedPool ||
      effect.placement.cpus.is_subset_of(holding->assigned)) {
    return;
  }
  breach(fmt::format("{} is put on CPUs {}, the checkpoint gives it {}", name_of(effect.container),
                     effect.placement.cpus.str(), holding->assigned.str()));
}

void PretendMachine::set_cpus(const SetCpuset& effect, const Now& now) {
  const auto found = containers_.find(effect.container);
  if (found == containers_.end() || !found->second.running) return;
  if (rules_->pins_cpus) {
    check_taking(effect, found->second, now);
    const Holding* holding = checkpoint_.find(effect.container);
    const CpuSet before = found->second.own;
    found->second.in_pool = effect.placement.owner == CpuOwner::kSharedPool;
    found->second.own = holding == nullptr || found->second.in_pool
                            ? CpuSet{}
                            : own_of(effect.placement.cpus, *holding);
    check_fence(effect.container, found->second.own - before);
  }
  found->second.cpus = effect.placement.cpus;
  found->second.moved = false;
  ++changes_;
  check_neighbours();
}

// All that share are moved together, but for those that somebody else has moved.
void PretendMachine::set_shared(const CpuSet& cpus) {
  shared_ = cpus;
  for (auto& [ref, container] : containers_) {
    if (!container.running || container.moved) continue;
    if (container.in_pool || members_.contains(ref)) container.cpus = cpus;
  }
  ++changes_;
  check_neighbours();
}

// The fence does not open on CPUs of a container that runs.
void PretendMachine::set_fence(const CpuSet& held, Fault fault) {
  const CpuSet opened = fence_ - held;
  for (const auto& [ref, container] : containers_) {
    if (!container.running || container.moved || checkpoint_.find(ref) == nullptr) continue;
    if (!container.own.intersects(opened)) continue;
    breach(fmt::format("the fence opens on CPUs {} of {}", (container.own & opened).str(),
                       name_of(ref)));
  }
  fence_tried_ = held;
  if (fault != Fault::kFails) fence_ = held;
  ++changes_;
}

// Nobody is put on CPUs of its own before the rest of the machine was asked off them.
void PretendMachine::check_fence(const ContainerRef& ref, const CpuSet& cpus) {
  if (!rules_->fences || cpus.is_subset_of(fence_tried_)) return;
  breach(fmt::format("{} is put on CPUs {} before the fence", name_of(ref),
                     (cpus - fence_tried_).str()));
}

Command PretendMachine::end_run(const ContainerRef& ref, ContainerExit exit, const Now& now) {
  PretendContainer& container = containers_.at(ref);
  exit.started_at = container.started_at;
  exit.finished_at = now.wall;
  container.running = false;
  container.exit = exit;
  ++changes_;
  return ContainerExited{.container = ref, .attempt = container.attempt, .exit = exit};
}

Command PretendMachine::end(const ContainerRef& ref, int code, const Now& now) {
  return end_run(ref, {.code = code}, now);
}

void PretendMachine::check_stop(const StopContainer& effect) {
  if (is_asked()) {
    breach(fmt::format("{} of somebody else is stopped", name_of(effect.container)));
    return;
  }
  const auto record = records_.find(effect.container.pod);
  if (record == records_.end() || record->second.deleted_at != WallTime{}) return;
  const Container* container = record->second.pod.find(effect.container.container);
  if (container == nullptr || container->kind == Container::Kind::kSidecar) return;
  if (record->second.restart_all.under_way) return;
  // One that has to be started again to be resized.
  const bool resizing = record->second.wish.has_value() || is_resizing(record->second);
  if (!container->resize_policy.empty() && resizing) return;
  breach(fmt::format("{} is stopped and nobody has deleted its pod", name_of(effect.container)));
}

std::vector<Command> PretendMachine::stop(const StopContainer& effect, const Now& now) {
  const auto found = containers_.find(effect.container);
  if (found == containers_.end() || !found->second.running) return {};
  PretendContainer& container = found->second;
  // A container that was asked to end for a reason is killed even if the reason has gone.
  if (!std::exchange(container.asked_to_end, true)) check_stop(effect);
  if (effect.grace.count() == 0) return {kill(effect.container, now)};
  if (!container.stubborn) {
    return {end_run(effect.container, {.code = 143, .signal = 15}, now)};
  }
  const SteadyTime by = now.steady + effect.grace;
  container.kill_at = std::min(container.kill_at.value_or(by), by);
  return {};
}

Command PretendMachine::kill(const ContainerRef& ref, const Now& now) {
  return end_run(ref, {.code = 137, .signal = 9}, now);
}

std::optional<std::pair<ContainerRef, SteadyTime>> PretendMachine::next_kill() const {
  std::optional<std::pair<ContainerRef, SteadyTime>> next;
  for (const auto& [ref, container] : containers_) {
    if (!container.running || !container.kill_at) continue;
    if (!next || *container.kill_at < next->second) next = {ref, *container.kill_at};
  }
  return next;
}

void PretendMachine::remove(const ContainerRef& ref) {
  const auto found = containers_.find(ref);
  if (found == containers_.end()) return;
  if (found->second.running) breach(fmt::format("{} runs and is removed", name_of(ref)));
  if (is_asked()) breach(fmt::format("{} of somebody else is removed", name_of(ref)));
  const auto record = records_.find(ref.pod);
  if (record != records_.end()) {
    const auto kept = record->second.containers.find(ref.container);
    if (kept == record->second.containers.end() || kept->second.exits <= found->second.attempt) {
      breach(fmt::format("{} is removed before its end is on record", name_of(ref)));
    }
  }
  containers_.erase(found);
  ++changes_;
}

void PretendMachine::move(const ContainerRef& ref, const CpuSet& cpus) {
  PretendContainer& container = containers_.at(ref);
  container.cpus = cpus;
  container.moved = true;
  ++changes_;
}

void PretendMachine::set_stubborn(const ContainerRef& ref) { containers_.at(ref).stubborn = true; }

void PretendMachine::set_offline(const CpuSet& cpus) {
  offline_ = cpus;
  ever_offline_ |= cpus;
  ++changes_;
}

// What is synced takes all that was written before with it.
void PretendMachine::note_change(const std::string& uid, Durability durability) {
  if (durability == Durability::kSynced) return unsynced_.clear();
  const auto found = records_.find(uid);
  unsynced_.emplace_back(uid,
                         found == records_.end() ? std::nullopt : std::optional(found->second));
}

void PretendMachine::reboot() {
  lost_records_ += unsynced_.size();
  for (auto change = unsynced_.rbegin(); change != unsynced_.rend(); ++change) {
    auto& [uid, before] = *change;
    if (before) {
      records_.insert_or_assign(uid, *std::move(before));
    } else {
      records_.erase(uid);
    }
  }
  unsynced_.clear();
  containers_.clear();
  shared_.reset();
  fence_.clear();
  fence_tried_.clear();
  last_run_.clear();  // what was started last may not be on record
  ++changes_;
}

std::vector<SeenContainer> PretendMachine::seen() const {
  std::vector<SeenContainer> all;
  for (const auto& [ref, container] : containers_) {
    SeenContainer& seen = all.emplace_back();
    seen.container = ref;
    seen.attempt = container.attempt;
    seen.running = container.running;
    seen.started_at = container.started_at;
    seen.exit = container.exit;
    if (container.running) seen.cpus = container.cpus - offline_;
    if (seen.cpus.empty()) seen.cpus = container.cpus;
    if (restored_) seen.pod = container.pod;
    const auto pod = pods_.find(ref.pod);
    if (pod != pods_.end()) seen.pod = std::make_shared<const Pod>(pod->second);
  }
  return all;
}

Recover PretendMachine::found() const {
  Recover recover{
      .cpus = checkpoint_, .seen = seen(), .online = rules_->admission.topology.cpus() - offline_};
  for (const auto& [uid, record] : records_) recover.pods.push_back(record);
  return recover;
}

void PretendMachine::change_disk(Disk disk, Manifests manifests) {
  checkpoint_ = std::move(disk.checkpoint);
  records_ = std::move(disk.records);
  unsynced_.clear();
  last_run_.clear();
  unlisted_.clear();
  restored_ = true;
  if (manifests == Manifests::kLost) {
    for (auto& [ref, container] : containers_) container.pod.reset();
  }
  ++changes_;
}

void PretendMachine::disown(const ContainerRef& ref) { containers_.at(ref).own.clear(); }

// The CPUs that nobody else may run on.
CpuSet PretendMachine::held_by(const ContainerRef& ref, const PretendContainer& container) const {
  if (!container.running) return {};
  if (restored_) return container.own & container.cpus;
  return checkpoint_.find(ref) == nullptr ? CpuSet{} : container.own;
}

// Nobody runs on a CPU that a running container was started on as its own, but for those
// that somebody has moved there.
void PretendMachine::check_neighbours() {
  for (const auto& [ref, holder] : containers_) {
    const CpuSet held = held_by(ref, holder);
    if (held.empty()) continue;
    for (const auto& [other_ref, other] : containers_) {
      if (!other.running || other.moved || other_ref == ref) continue;
      if (!other.cpus.intersects(held)) continue;
      breaches_.push_back(fmt::format("{} runs on CPUs {} of {}", name_of(other_ref),
                                      (other.cpus & held).str(), name_of(ref)));
    }
  }
}

}  // namespace corehold
