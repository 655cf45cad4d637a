// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/running/facts.h"

namespace corehold {
namespace {

constexpr int kPatience = 20'000;  // moves until the world is taken for restless

// Effects of one lane are done in their order. Names of pods are never empty.
ContainerRef shell_lane(std::string_view name) { return {"", std::string(name)}; }

struct LaneOf {
  ContainerRef operator()(const SavePod&) const { return shell_lane("store"); }
  ContainerRef operator()(const ForgetPod&) const { return shell_lane("store"); }
  ContainerRef operator()(const PersistCheckpoint&) const { return shell_lane("checkpoint"); }
  ContainerRef operator()(const WritePodInfo&) const { return shell_lane("podinfo"); }
  ContainerRef operator()(const RemovePodFiles&) const { return shell_lane("podinfo"); }
  ContainerRef operator()(const SetCpuset& effect) const { return effect.container; }
  ContainerRef operator()(const StartContainer& effect) const { return effect.container; }
  ContainerRef operator()(const SetSharedCpus&) const { return shell_lane("shared"); }
  ContainerRef operator()(const Isolate&) const { return shell_lane("fence"); }
  ContainerRef operator()(const StopContainer& effect) const { return effect.container; }
  ContainerRef operator()(const RemoveContainer& effect) const { return effect.container; }
  ContainerRef operator()(const Observe&) const { return shell_lane("observe"); }
  template <typename Other>
  ContainerRef operator()(const Other&) const {
    return shell_lane("shell");
  }
};

const ContainerRef& ref_of(const ContainerExited& exited) { return exited.container; }

}  // namespace

World::World(const ManagerRules& rules, const Bookings& empty)
    : rules_(&rules), empty_(&empty), machine_(rules, empty.cpus) {
  boot();
}

void World::boot(const ManagerRules& rules) {
  up_ = true;
  rules_ = &rules;
  machine_.change_agent(rules, now_);
  node_ = NodeState{.placing = {.bookings = *empty_}};
  said_.clear();
  send(machine_.found());
  if (machine_.is_restored()) check_said();
}

void World::check_said() {
  for (const auto& [ref, container] : machine_.containers()) {
    if (!container.running || container.own.empty()) continue;
    const Holding* holding = node_.placing.bookings.cpus.find(ref);
    if (holding != nullptr && container.own.is_subset_of(holding->assigned)) continue;
    const PlacedContainer* placed = find_container(node_.placing, ref);
    const bool is_entitled = placed == nullptr || placed->exclusive > 0;
    if (is_entitled && !said_.contains(ref)) {
      breaches_.push_back(fmt::format("{}/{} loses CPUs of {} and nobody says so", ref.pod,
                                      ref.container, container.own.str()));
    }
    if (holding == nullptr) machine_.disown(ref);
  }
}

void World::crash() {
  up_ = false;
  node_ = {};
  lanes_.clear();
  timers_.clear();
}

void World::send(const Command& command) { take(std::span(&command, 1)); }

void World::take(std::span<const Command> commands) {
  if (changes_ != nullptr) changes_->begin(node_);
  Outcome outcome = step(*rules_, std::move(node_), commands, now_);
  node_ = std::move(outcome.node);
  if (changes_ != nullptr) changes_->end(node_);
  commands_ += commands.size();
  for (const std::string& violation : violations(*rules_, node_)) breaches_.push_back(violation);
  for (Effect& effect : outcome.effects) hand_on(std::move(effect));
}

void World::hand_on(Effect effect) {
  ++effects_;
  if (const auto* timer = std::get_if<StartTimer>(&effect)) {
    if (timer->timer.kind == TimerKey::Kind::kDelay) ++delays_;
    timers_[timer->timer] = now_.steady + timer->after;
  } else if (const auto* cancel = std::get_if<CancelTimer>(&effect)) {
    timers_.erase(cancel->timer);
  } else if (const auto* reply = std::get_if<Reply>(&effect)) {
    if (!answers_
             .emplace(reply->request, Answer{.done = !reply->error,
                                             .grant = reply->grant,
                                             .error = reply->error ? reply->error->message : ""})
             .second) {
      breaches_.push_back(fmt::format("request {} is answered twice", reply->request));
    }
  } else if (const auto* metric = std::get_if<CountMetric>(&effect)) {
    // Files that were put back say what an earlier agent has told.
    if (metric->name == "corehold_told_after_taken_total" && !machine_.is_restored()) {
      breaches_.push_back("the agent itself has counted CPUs that were taken untold");
    }
  } else if (const auto* event = std::get_if<EmitEvent>(&effect)) {
    if (event->type == EmitEvent::Type::kWarning) said_.insert(event->about);
  } else {
    if (std::holds_alternative<SetSharedCpus>(effect)) {
      machine_.set_members(node_.placing.pool.members);
    }
    lanes_[std::visit(LaneOf{}, effect)].effects.push_back(std::move(effect));
  }
}

std::vector<World::Move> World::moves() const {
  std::vector<Move> all;
  for (const auto& [key, lane] : lanes_) {
    if (!lane.effects.empty()) all.push_back({.lane = key, .arrives = false});
    if (!lane.results.empty()) all.push_back({.lane = key, .arrives = true});
  }
  return all;
}

const Effect* World::effect_of(const Move& move) const {
  return move.arrives ? nullptr : &lanes_.at(move.lane).effects.front();
}

void World::make(const Move& move, Fault fault) {
  Lane& lane = lanes_.at(move.lane);
  if (!move.arrives) {
    const Effect effect = std::move(lane.effects.front());
    lane.effects.pop_front();
    for (Command& result : machine_.execute(effect, fault, now_)) {
      lane.results.push_back(std::move(result));
    }
    if (lane.effects.empty() && lane.results.empty()) lanes_.erase(move.lane);
    return;
  }
  send(arrived(move.lane));
}

void World::make_together(const std::vector<Move>& moves) {
  std::vector<Command> commands;
  commands.reserve(moves.size());
  for (const Move& move : moves) commands.push_back(arrived(move.lane));
  take(commands);
}

Command World::arrived(const ContainerRef& key) {
  Lane& lane = lanes_.at(key);
  Command command = std::move(lane.results.front());
  lane.results.pop_front();
  if (lane.effects.empty() && lane.results.empty()) lanes_.erase(key);
  return command;
}

void World::wait(std::chrono::milliseconds time) {
  now_.steady += time;
  now_.wall += time;
}

bool World::fire_next() { return fire_next_until(SteadyTime::max()); }

bool World::fire_next_until(SteadyTime then) {
  const auto next =
      std::min_element(timers_.begin(), timers_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  // The runtime kills containers whose time to stop is over, whether or not there is an agent.
  if (const auto kill = machine_.next_kill();
      kill && kill->second <= then && (next == timers_.end() || kill->second <= next->second)) {
    if (kill->second > now_.steady) {
      wait(std::chrono::ceil<std::chrono::milliseconds>(kill->second - now_.steady));
    }
    Command exited = machine_.kill(kill->first, now_);
    if (up_) lanes_[kill->first].results.push_back(std::move(exited));
    return true;
  }
  if (next == timers_.end() || next->second > then) return false;
  if (next->second > now_.steady) {
    wait(std::chrono::ceil<std::chrono::milliseconds>(next->second - now_.steady));
  }
  const TimerKey key = next->first;
  timers_.erase(next);
  send(TimerFired{key});
  return true;
}

void World::end(const ContainerRef& ref, int code) {
  Command exited = machine_.end(ref, code, now_);
  if (!up_) return;
  lanes_[ref_of(std::get<ContainerExited>(exited))].results.push_back(std::move(exited));
}

bool World::run_lanes() {
  for (int patience = kPatience; patience > 0; --patience) {
    if (lanes_.empty()) return true;
    const auto& [key, lane] = *lanes_.begin();
    make({.lane = key, .arrives = lane.effects.empty()}, Fault::kNone);
  }
  return false;
}

bool World::run_timers() {
  const auto is_reconcile = [](const auto& timer) {
    return timer.first.kind == TimerKey::Kind::kReconcile;
  };
  for (int patience = kPatience / 10; patience > 0; --patience) {
    if (!run_lanes()) return false;
    if (std::all_of(timers_.begin(), timers_.end(), is_reconcile) && !machine_.next_kill()) {
      return true;
    }
    fire_next();
  }
  return false;
}

bool World::settle() {
  if (!run_timers()) return false;
  for (int round = 0; round < 2; ++round) {
    fire_next();
    if (!run_timers()) return false;
  }
  return true;
}

std::vector<std::string> World::breaches() const {
  std::vector<std::string> all = machine_.breaches();
  all.insert(all.end(), breaches_.begin(), breaches_.end());
  return all;
}

void World::find_idle(const std::string& uid, const RunPod& pod,
                      std::vector<std::string>& found) const {
  // While CPUs are offline, one may have to wait for somebody who cannot go elsewhere.
  if (is_stopping(pod) || !node_.placing.offline.empty()) return;
  for (const Container* container : whose_turn(pod)) {
    if (pod.record.containers.at(container->name).ended) continue;
    if (is_running(pod.containers.at(container->name).stage)) continue;
    found.push_back(fmt::format("{}/{} does not run", uid, container->name));
  }
}

std::vector<std::string> World::unsettled() const {
  std::vector<std::string> found;
  const State& checkpoint = machine_.checkpoint();
  for (const auto& [uid, record] : machine_.records()) {
    if (!node_.running.pods.contains(uid)) {
      found.push_back(fmt::format("pod {} is in the store and unknown", uid));
    } else if (node_.running.pods.at(uid).record != record) {
      // Why a pod waits is not saved every time.
      PodRecord here = node_.running.pods.at(uid).record;
      here.reason = record.reason;
      here.message = record.message;
      if (here != record) found.push_back(fmt::format("the record of pod {} is old", uid));
    }
    if (record.deleted_at != WallTime{}) {
      found.push_back(fmt::format("pod {} was deleted and is still there", uid));
    }
  }
  for (const auto& [uid, pod] : node_.running.pods) {
    if (machine_.records().contains(uid)) continue;
    found.push_back(fmt::format("pod {} is known and not in the store", uid));
  }
  for (const auto& [uid, pod] : node_.running.pods) {
    const PlacedPod& placed = node_.placing.pods.at(uid);
    // A container that has strayed while all its CPUs are offline has to wait for them.
    const bool is_lost =
        std::any_of(placed.containers.begin(), placed.containers.end(),
                    [](const auto& entry) { return entry.second.strayed.has_value(); });
    if (is_resizing(pod.record) && !is_lost) {
      found.push_back(fmt::format("pod {} is still being resized", uid));
    }
    if (phase_of(pod) == "Running" && pod.record.wish && !placed.resize.verdict) {
      found.push_back(fmt::format("nobody has decided on the resize of pod {}", uid));
    }
    const std::string phase = phase_of(pod);
    if (pod.record.restart_all.under_way && (phase == "Running" || phase == "Pending")) {
      found.push_back(fmt::format("pod {} has not started over", uid));
    }
    if (!is_admitted(placed)) continue;
    find_idle(uid, pod, found);
    const auto memory = node_.placing.bookings.memory.pods().find(uid);
    const auto devices = node_.placing.bookings.devices.pods().find(uid);
    const bool kept = (memory == node_.placing.bookings.memory.pods().end()
                           ? pod.record.memory.empty()
                           : memory->second == pod.record.memory) &&
                      (devices == node_.placing.bookings.devices.pods().end()
                           ? pod.record.devices.empty()
                           : devices->second == pod.record.devices);
    if (!kept) found.push_back(fmt::format("memory or devices of pod {} are lost", uid));
  }
  if (!rules_->pins_cpus) return found;
  if (checkpoint.pods != node_.placing.bookings.cpus.pods ||
      checkpoint.shared != node_.placing.bookings.cpus.shared) {
    found.push_back("the checkpoint is not what was decided");
  }
  if (rules_->fences && machine_.fence() != checkpoint.exclusive()) {
    found.push_back(fmt::format("the rest of the machine is kept off CPUs {}, held are {}",
                                machine_.fence().str(), checkpoint.exclusive().str()));
  }
  for (const auto& [uid, containers] : checkpoint.pods) {
    const std::string phase =
        node_.running.pods.contains(uid) ? phase_of(node_.running.pods.at(uid)) : "gone";
    if (phase == "Running" || phase == "Pending") continue;
    found.push_back(fmt::format("pod {} is {} and holds CPUs", uid, phase));
  }
  for (const auto& [uid, pod] : node_.running.pods) {
    const PlacedPod& placed = node_.placing.pods.at(uid);
    if (!is_admitted(placed) || phase_of(pod) != "Running") continue;
    const auto files = machine_.podinfo().find(uid);
    for (const auto& [name, state] : placed.containers) {
      const Holding* holding = checkpoint.find({uid, name});
      if (holding == nullptr || pod.record.containers.at(name).ended) continue;
      if (holding->assigned.size() != state.exclusive) {
        found.push_back(fmt::format("{}/{} was granted {} CPUs and has {}", uid, name,
                                    state.exclusive, holding->assigned.str()));
      }
      if (files == machine_.podinfo().end() || files->second.at(name).cpus != holding->assigned) {
        found.push_back(
            fmt::format("{}/{} is not told of its CPUs {}", uid, name, holding->assigned.str()));
      }
    }
  }
  for (std::string& each : misplaced()) found.push_back(std::move(each));
  return found;
}

std::vector<std::string> World::misplaced() const {
  std::vector<std::string> found;
  const State& checkpoint = machine_.checkpoint();
  if (!rules_->pins_cpus) return found;
  for (const auto& [ref, container] : machine_.containers()) {
    if (!container.running) continue;
    const Holding* holding = checkpoint.find(ref);
    const CpuSet right =
        (holding == nullptr ? checkpoint.shared : holding->assigned) - machine_.offline();
    if (right.empty() || container.cpus == right) continue;
    // Nobody can see that it was moved to CPUs that are offline.
    if (container.moved && container.cpus - machine_.offline() == right) continue;
    found.push_back(fmt::format("{}/{} runs on CPUs {}, not {}", ref.pod, ref.container,
                                container.cpus.str(), right.str()));
  }
  return found;
}

}  // namespace corehold
