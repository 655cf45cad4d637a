// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime finds containers that run and are not its own: those of an agent with
// another root, and its own whose records are lost or older. None may be there when an agent
// starts; the CPUs of those that turn up later are given to nobody.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/cgroup/affinity.h"
#include "runtime/monitor/live_processes.h"
#include "runtime/process/command_notes.h"
#include "runtime/process/process_runtime_entry.h"

namespace corehold {
namespace {

bool has_any(const LiveContainer& container, const std::vector<pid_t>& pids) {
  return std::any_of(pids.begin(), pids.end(), [&](pid_t pid) {
    return std::find(container.pids.begin(), container.pids.end(), pid) != container.pids.end();
  });
}

LiveContainer* find_with(std::vector<LiveContainer>& containers, const std::vector<pid_t>& pids) {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const auto& each) { return has_any(each, pids); });
  return found == containers.end() ? nullptr : &*found;
}

}  // namespace

bool ProcessRuntime::Subject::is_of_another_run(bool is_on_record) const {
  const auto found = confinement->processes(processes());
  if (!found || std::all_of(found->begin(), found->end(), has_ended)) return false;
  if (!is_on_record) return true;
  if (directory.has_main() && !directory.read_supervisor()) return true;
  const auto monitors = live_monitors();
  return std::any_of(monitors.begin(), monitors.end(), [&](const LiveMonitor& monitor) {
    return monitor.directory == directory.path() && monitor.process != supervisor;
  });
}

// Containers of monitors and clients that are not of this runtime, whatever cgroup they are in.
void ProcessRuntime::Survey::add_supervised(std::vector<LiveContainer>& unknown) const {
  for (const LiveMonitor& monitor : live_monitors()) {
    if (supervisors.contains(monitor.process.pid) || directories.contains(monitor.directory)) {
      continue;
    }
    const auto pids = descendants_of(monitor.process.pid);
    if (pids.empty()) continue;
    LiveContainer* container = find_with(unknown, pids);
    if (container == nullptr) {
      LiveContainer& added = unknown.emplace_back(LiveContainer{.pids = pids});
      for (const pid_t pid : pids) added.cpus |= cpus_of_process(pid);
      container = &added;
    }
    container->supervisor = monitor.process.pid;
    container->root = root_of(monitor.directory);
    container->directory = monitor.directory;
  }
  const std::set<std::string> noted = noted_commands(root);
  for (LiveContainer& marked : marked_containers({.known = known, .noted = noted, .root = root})) {
    LiveContainer* container = find_with(unknown, marked.pids);
    if (container == nullptr) {
      unknown.push_back(std::move(marked));
    } else if (container->root.empty()) {
      container->supervisor = marked.supervisor;
      container->root = marked.root;
    }
  }
}

Result<std::vector<LiveContainer>> ProcessRuntime::Survey::find() const {
  // No other agent can start any while this one has the lock of the machine, and to look at every
  // process takes too long to be done again and again.
  std::vector<LiveContainer> unknown;
  if (!is_first && confinement->capabilities().confined_by == ConfinedBy::kAffinity) return unknown;
  // Later an empty cgroup may be that of a container which starts in this moment.
  unknown = TRY(
      confinement->unknown(known, is_first ? EmptyCgroups::kRemoved : EmptyCgroups::kLeftAlone));
  if (!is_first) return unknown;
  add_supervised(unknown);
  // What is noted and not known has ended.
  if (unknown.empty()) keep_notes_of(root, known);
  for (LiveContainer& each : unknown) {
    if (!each.root.empty() && each.root != root) continue;
    const std::string_view names = last_two_names(each.cgroup);
    if (each.directory.empty() && !names.empty()) {
      each.directory = fmt::format("{}/containers/{}", root, names);
    }
    if (each.directory.empty()) continue;
    const ContainerDirectory records(each.directory);
    if (const auto sound = records.check(); !sound) {
      each.damage = sound.error().message;
    } else if (records.has_main()) {
      each.damage = fmt::format("{} is of an earlier start", each.directory);
    }
  }
  return unknown;
}

Result<void> ProcessRuntime::Survey::check(const CpuSet& cpus) const {
  const auto is_there = [&](const LiveContainer& each) { return each.cpus.intersects(cpus); };
  if (std::none_of(last.begin(), last.end(), is_there)) return {};
  const auto now = TRY(find());
  // Not known to this survey may also be a container that was started after it was made.
  const auto found = std::find_if(now.begin(), now.end(), [&](const LiveContainer& each) {
    return is_there(each) && std::any_of(last.begin(), last.end(), [&](const LiveContainer& seen) {
             return seen.cgroup == each.cgroup;
           });
  });
  if (found == now.end()) return {};
  return Error{Code::kIo, fmt::format("CPUs {} are in use by {}", (found->cpus & cpus).str(),
                                      describe(*found, root))};
}

Result<void> ProcessRuntime::Survey::check(const Placement& placement) const {
  if (placement.owner != CpuOwner::kContainer || last.empty()) return {};
  return check(placement.cpus);
}

Result<void> ProcessRuntime::Survey::check(const Placement& placement,
                                           const Subject& subject) const {
  if (placement.owner != CpuOwner::kContainer || last.empty()) return {};
  const auto view = subject.confinement->look(subject.processes());
  return check(view ? placement.cpus - view->cpus : placement.cpus);
}

// Cgroups, marks and "POD/CONTAINER" of the containers that this runtime has.
std::set<std::string> ProcessRuntime::known_places() const {
  std::set<std::string> known;
  for (const auto& [container, entry] : entries_) {
    known.insert(entry->path.cgroup);
    known.insert(mark_of(*entry));
    known.insert(pod_mark(container));
    // An agent that was killed while it moved the container has left processes behind, which
    // place() brings.
    if (entry->phase != Entry::Phase::kEnded) add_cgroups(*entry, known);
  }
  return known;
}

void ProcessRuntime::add_cgroups(const Entry& entry, std::set<std::string>& cgroups) {
  for (const CpuOwner owner : {CpuOwner::kContainer, CpuOwner::kSharedPool}) {
    cgroups.insert(
        cgroup_of(entry.container, entry.confinement->capabilities().confined_by, owner));
  }
}

ProcessRuntime::Survey ProcessRuntime::survey() const {
  Survey survey{
      .confinement = confinement_, .root = root(), .last = unknown_, .is_first = !was_listed_};
  survey.known = known_places();
  for (const auto& [ref, entry] : entries_) {
    survey.supervisors.insert(entry->supervisor.pid);
    if (entry->phase != Entry::Phase::kEnded) survey.directories.insert(entry->directory.path());
  }
  return survey;
}

// Mostly there is nothing that a container could meet, and nothing to be copied for the look.
ProcessRuntime::Survey ProcessRuntime::survey_for_start() const {
  return unknown_.empty() ? Survey{} : survey();
}

// Without the containers that were started since the survey began, also those that have gone again.
Result<std::vector<LiveContainer>> ProcessRuntime::still_unknown(
    Result<std::vector<LiveContainer>> unknown) const {
  if (!unknown || unknown->empty()) return unknown;
  auto known = known_places();
  known.insert(left_.begin(), left_.end());
  std::erase_if(*unknown, [&](const LiveContainer& container) {
    return std::any_of(known.begin(), known.end(), [&](const std::string& place) {
      return container.cgroup.ends_with("/" + place);
    });
  });
  return unknown;
}

// A survey that is under way may have seen it, and did not know it if it came later.
void ProcessRuntime::forget(const ContainerRef& container) {
  if (looks_ > 0) add_cgroups(*entries_.at(container), left_);
  entries_.erase(container);
}

void ProcessRuntime::note_unknown(std::vector<LiveContainer> unknown) {
  unknown_ = std::move(unknown);
  for (const LiveContainer& container : unknown_) {
    if (!told_unknown_.insert(container.cgroup).second || !options_.on_trouble) continue;
    options_.on_trouble(
        fmt::format("not a container of this agent: {}; its CPUs are not given as exclusive ones "
                    "as long as it is there",
                    describe(container, root())));
  }
}

}  // namespace corehold
