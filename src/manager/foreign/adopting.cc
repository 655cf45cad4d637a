// SPDX-License-Identifier: Apache-2.0
#include "manager/foreign/adopting.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "manager/foreign/questions.h"
#include "manager/placing/drift.h"
#include "manager/placing/facts.h"
#include "manager/placing/first_holdings.h"
#include "manager/placing/ledger.h"
#include "manager/placing/placing.h"

namespace corehold {
namespace {

using SeenByRef = std::map<ContainerRef, const SeenContainer*>;

// Of several runs of a container the one that runs, else the last.
SeenByRef by_ref(const std::vector<SeenContainer>& all) {
  const auto rank = [](const SeenContainer& seen) { return std::pair(seen.running, seen.attempt); };
  SeenByRef seen;
  for (const SeenContainer& container : all) {
    const SeenContainer*& kept = seen[container.container];
    if (kept == nullptr || rank(*kept) < rank(container)) kept = &container;
  }
  return seen;
}

// The pod as the runtime has it, else made up of the containers that were seen.
Pod pod_of(const std::string& uid, const SeenByRef& seen) {
  Pod made_up{.name = uid, .uid = uid};
  for (auto entry = seen.lower_bound({uid, ""}); entry != seen.end(); ++entry) {
    if (entry->first.pod != uid) break;
    if (entry->second->pod) {
      Pod pod = *entry->second->pod;
      pod.uid = uid;
      return pod;
    }
    made_up.containers.push_back({.name = entry->first.container});
  }
  set_defaults(made_up);
  return made_up;
}

void take_run(ForeignTurn& turn, ForeignContainer& container, const SeenContainer& seen) {
  take_in(turn.placing, seen);
  take(turn.placing, SetDone{.container = seen.container, .is_done = false});
  container.newest = std::max(container.newest, seen.attempt);
  container.up = seen.attempt;
}

bool is_init(const PlacedPod& pod, const std::string& name) {
  const Container* container = pod.pod.find(name);
  return container != nullptr && container->kind == Container::Kind::kInit;
}

// The container does not run any more.
void end_run(ForeignTurn& turn, const ContainerRef& ref, const std::optional<ContainerExit>& exit) {
  take(turn.placing, ContainerGone{ref});
  const PlacedPod& pod = turn.placing.placing.pods.at(ref.pod);
  const bool is_done = is_init(pod, ref.container) && exit && exit->code == 0;
  if (is_done) take(turn.placing, SetDone{.container = ref, .is_done = true});
}

// Init containers of which nothing runs have ended for good where others have been started.
void finish_inits(ForeignTurn& turn, const std::string& uid, const SeenByRef& seen) {
  const PlacedPod& pod = turn.placing.placing.pods.at(uid);
  const bool has_apps =
      std::any_of(pod.pod.containers.begin(), pod.pod.containers.end(), [&](const Container& each) {
        return seen.contains({uid, each.name});
      });
  for (const Container& each : pod.pod.init_containers) {
    const ContainerRef ref{uid, each.name};
    const auto found = seen.find(ref);
    const bool runs = found != seen.end() && found->second->running;
    const bool succeeded =
        found != seen.end() && found->second->exit && found->second->exit->code == 0;
    if (each.kind != Container::Kind::kInit || runs || !(has_apps || succeeded)) continue;
    take(turn.placing, SetDone{.container = ref, .is_done = true});
  }
}

// A pod that is not known, with all of its containers that were seen.
void adopt(ForeignTurn& turn, const std::string& uid, const SeenByRef& seen) {
  ForeignPod& pod = claim_pod(turn, pod_of(uid, seen));
  for (auto& [name, container] : pod.containers) {
    const auto found = seen.find({uid, name});
    if (found == seen.end()) continue;
    container.newest = found->second->attempt;
    if (!found->second->running) continue;
    take_run(turn, container, *found->second);
    turn.note({uid, name}, "Adopted",
              fmt::format("container {} of somebody else runs on CPUs {}", name,
                          found->second->cpus.str()));
  }
  finish_inits(turn, uid, seen);
}

void adopt_unknown(ForeignTurn& turn, const SeenByRef& seen, const std::set<std::string>& gone) {
  for (const auto& [ref, container] : seen) {
    if (gone.contains(ref.pod)) continue;
    if (find_pod(turn.foreign, ref.pod) == nullptr) {
      adopt(turn, ref.pod, seen);
    } else if (container->running && find_container(turn.foreign, ref) == nullptr) {
      turn.warn(ref, "UnexpectedContainer",
                fmt::format("container {} runs and its pod has none of that name; it is left alone",
                            ref.container));
    }
  }
}

// `is_all`: what is not seen is not there.
void compare(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container,
             const SeenContainer* seen, std::uint64_t since, bool is_all) {
  const PlacedContainer& placed = *find_container(turn.placing.placing, ref);
  const bool runs = seen != nullptr && seen->running;
  if (placed.presence == Presence::kStarting) {
    const bool is_this_run = seen != nullptr && seen->attempt == container.up;
    if (runs && is_this_run) {
      take(turn.placing, ContainerPlaced{ref});
    } else if (is_this_run && seen->exit) {
      end_run(turn, ref, seen->exit);
    } else if (is_all) {
      end_run(turn, ref, std::nullopt);
      if (runs) take_run(turn, container, *seen);
    }
    return;
  }
  if (!is_all && !is_news(placed, since)) return;
  if (placed.presence == Presence::kRunning) {
    if (!runs) {
      end_run(turn, ref, seen != nullptr ? seen->exit : std::nullopt);
    } else if (seen->attempt != container.up) {
      end_run(turn, ref, std::nullopt);
      take_run(turn, container, *seen);
    } else if (is_news(placed, since)) {
      check_drift(turn.placing, *seen, since);
    }
  } else if (runs) {
    turn.warn(ref, "UnexpectedContainer",
              fmt::format("container {} was started without being asked for", ref.container));
    take_run(turn, container, *seen);
  }
}

void remove_pod(ForeignTurn& turn, const std::string& uid, ForeignPod& pod) {
  if (pod.is_removed) return;
  pod.is_removed = true;
  turn.foreign.open.insert(uid);
  for (auto& [name, container] : pod.containers) {
    const ContainerRef ref{uid, name};
    refuse_question(turn, ref, container, {Code::kNotFound, "the pod has been removed"});
    take(turn.placing, ContainerGone{ref});
  }
  take(turn.placing, SetCourse{.uid = uid, .is_firm = true, .course = Course::kOver});
}

bool is_seen(const std::string& uid, const SeenByRef& seen) {
  const auto first = seen.lower_bound({uid, ""});
  return first != seen.end() && first->first.pod == uid;
}

// Running containers that are not on all the CPUs they hold: an agent before this one has not come
// to the end of a growth. Until they are there they are told of no more than they have.
void resume_growth(ForeignTurn& turn, PlacedPod& pod) {
  const PlacingState& placing = turn.placing.placing;
  for (auto& [name, state] : pod.containers) {
    const Holding* holding = placing.bookings.cpus.find({pod.pod.uid, name});
    if (holding == nullptr || state.presence != Presence::kRunning) continue;
    if ((holding->assigned - placing.offline).is_subset_of(state.confirmed)) continue;
    state.actual = pod.pod.find(name)->resources;
    for (ResourceList* list : {&state.actual->requests, &state.actual->limits}) {
      list->insert_or_assign(std::string(kCpu), Quantity::of(state.confirmed.size()));
    }
    pod.resize.began_at = turn.now.wall;
  }
}

// The pod that was adopted at the beginning of a life holds all that it needs, or starts over.
void settle(ForeignTurn& turn, const std::string& uid) {
  PlacingState& placing = turn.placing.placing;
  PlacedPod& pod = placing.pods.at(uid);
  if (has_all_cpus(placing, pod)) {
    pod.standing = Standing::kAdmitted;
    pod.is_new = false;
  } else if (is_quiet(pod)) {
    release(turn.rules.admission, placing.bookings, uid);
  }
}

}  // namespace

void on_recover_foreign(ForeignTurn& turn, const Recover& command) {
  PlacingState& placing = turn.placing.placing;
  placing.bookings.cpus = command.cpus;
  placing.durable = command.cpus;
  set_online(turn.placing, command.online);
  adopt_unknown(turn, by_ref(command.seen), {});
  drop_strange_holdings(turn.placing);
  for (auto& [uid, pod] : placing.pods) {
    if (!turn.rules.pins_cpus) continue;
    hold_what_runs(turn.placing, pod);
    resume_growth(turn, pod);
  }
  for (const auto& [uid, pod] : turn.foreign.pods) settle(turn, uid);
  // Nothing is done to any container before what was found out is durable.
  if (turn.rules.pins_cpus) ++placing.revision;
  turn.emit(
      StartTimer{.timer = {TimerKey::Kind::kReconcile, {}}, .after = turn.rules.reconcile_period});
}

void on_synchronized(ForeignTurn& turn, const Synchronized& command) {
  set_online(turn.placing, command.online);
  const SeenByRef seen = by_ref(command.seen);
  for (auto& [uid, pod] : turn.foreign.pods) {
    if (pod.is_removed) continue;
    for (auto& [name, container] : pod.containers) {
      const ContainerRef ref{uid, name};
      refuse_question(turn, ref, container, {Code::kConflict, "the runtime has connected anew"});
      const auto found = seen.find(ref);
      compare(turn, ref, container, found == seen.end() ? nullptr : found->second,
              turn.placing.placing.turn, true);
    }
    if (!is_seen(uid, seen)) remove_pod(turn, uid, pod);
  }
  adopt_unknown(turn, seen, {});
}

void on_seen(ForeignTurn& turn, const std::vector<SeenContainer>& all, std::uint64_t since,
             const std::set<std::string>& gone) {
  const SeenByRef seen = by_ref(all);
  for (auto& [uid, pod] : turn.foreign.pods) {
    if (pod.is_removed) continue;
    for (auto& [name, container] : pod.containers) {
      const ContainerRef ref{uid, name};
      const auto found = seen.find(ref);
      compare(turn, ref, container, found == seen.end() ? nullptr : found->second, since, false);
    }
  }
  adopt_unknown(turn, seen, gone);
}

void on_started_foreign(ForeignTurn& turn, const ContainerStarted& command) {
  ForeignContainer* container = find_container(turn.foreign, command.container);
  if (container == nullptr || command.attempt < container->newest) return;
  const PlacedContainer& placed = *find_container(turn.placing.placing, command.container);
  if (container->up == command.attempt && placed.presence != Presence::kAbsent) {
    take(turn.placing, ContainerPlaced{command.container});
    return;
  }
  // Started without a grant: it may be anywhere until it is seen.
  SeenContainer anywhere;
  anywhere.container = command.container;
  anywhere.attempt = command.attempt;
  anywhere.running = true;
  anywhere.cpus = turn.rules.admission.topology.cpus();
  anywhere.strayed = true;
  turn.warn(command.container, "UnexpectedContainer",
            fmt::format("container {} was started without being granted its CPUs",
                        command.container.container));
  take_run(turn, *container, anywhere);
}

void on_exited_foreign(ForeignTurn& turn, const ContainerExited& command) {
  const ForeignContainer* container = find_container(turn.foreign, command.container);
  if (container == nullptr || container->up != command.attempt) return;
  end_run(turn, command.container, command.exit);
}

void on_pod_removed(ForeignTurn& turn, const PodRemoved& command) {
  if (ForeignPod* pod = find_pod(turn.foreign, command.uid)) remove_pod(turn, command.uid, *pod);
}

std::vector<std::string> drop_removed(ForeignTurn& turn) {
  const PlacingState& placing = turn.placing.placing;
  std::vector<std::string> dropped;
  for (const std::string& uid : turn.foreign.open) {
    const ForeignPod* pod = find_pod(turn.foreign, uid);
    if (pod == nullptr || !pod->is_removed || is_being_placed(placing, uid)) continue;
    if (holds_anything(placing.bookings, uid) || placing.durable.pods.contains(uid)) continue;
    dropped.push_back(uid);
  }
  for (const std::string& uid : dropped) {
    turn.emit(RemovePodFiles{uid});
    take(turn.placing, DropPod{uid});
    turn.foreign.pods.erase(uid);
    turn.foreign.open.erase(uid);
  }
  return dropped;
}

}  // namespace corehold
