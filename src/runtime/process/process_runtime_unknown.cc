// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime finds containers that run and are not its own: those of an agent with
// another root, and its own whose records are lost or older. None may be there when an agent
// starts; the CPUs of those that turn up later are given to nobody.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/cgroup/affinity.h"
#include "runtime/monitor/live_processes.h"
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
  }
  for (LiveContainer& marked : marked_containers(known)) {
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
  if (is_first) add_supervised(unknown);
  return unknown;
}

Result<void> ProcessRuntime::Survey::check(const CpuSet& cpus) const {
  const auto is_there = [&](const LiveContainer& each) { return each.cpus.intersects(cpus); };
  if (std::none_of(last.begin(), last.end(), is_there)) return {};
  const auto now = TRY(find());
  const auto found = std::find_if(now.begin(), now.end(), is_there);
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
    if (entry->phase == Entry::Phase::kEnded) continue;
    // An agent that was killed while it moved the container has left processes behind, which
    // place() brings.
    for (const CpuOwner owner : {CpuOwner::kContainer, CpuOwner::kSharedPool}) {
      known.insert(cgroup_of(container, entry->confinement->capabilities().confined_by, owner));
    }
  }
  return known;
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

void ProcessRuntime::note_unknown(std::vector<LiveContainer> unknown) {
  // Containers may have been started since the survey began.
  const auto known = known_places();
  std::erase_if(unknown, [&](const LiveContainer& container) {
    return std::any_of(known.begin(), known.end(), [&](const std::string& place) {
      return container.cgroup.ends_with("/" + place);
    });
  });
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
