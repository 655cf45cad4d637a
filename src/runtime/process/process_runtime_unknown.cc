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

// Cgroups, marks and "POD/CONTAINER" of the containers that this runtime has.
std::set<std::string> ProcessRuntime::known_places() const {
  std::set<std::string> known;
  for (const auto& [container, entry] : entries_) {
    known.insert(entry->cgroup);
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

// Containers of monitors and clients that are not of this runtime, whatever cgroup they are in.
void ProcessRuntime::add_supervised(std::vector<LiveContainer>& unknown) const {
  std::set<pid_t> supervisors;
  std::set<std::string> directories;
  for (const auto& [ref, entry] : entries_) {
    supervisors.insert(entry->supervisor.pid);
    if (entry->phase != Entry::Phase::kEnded) directories.insert(entry->directory.path());
  }
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
  for (LiveContainer& marked : marked_containers(known_places())) {
    LiveContainer* container = find_with(unknown, marked.pids);
    if (container == nullptr) {
      unknown.push_back(std::move(marked));
    } else if (container->root.empty()) {
      container->supervisor = marked.supervisor;
      container->root = marked.root;
    }
  }
}

Result<std::vector<LiveContainer>> ProcessRuntime::find_unknown() const {
  // No other agent can start any while this one has the lock of the machine, and to look at every
  // process takes too long to be done again and again.
  std::vector<LiveContainer> unknown;
  if (was_listed_ && capabilities().confined_by == ConfinedBy::kAffinity) return unknown;
  unknown = TRY(confinement_->unknown(known_places()));
  if (!was_listed_) add_supervised(unknown);
  return unknown;
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

// Fails while a container that is not of this runtime may run on one of these CPUs.
Result<void> ProcessRuntime::check_unknown(const CpuSet& cpus) {
  const auto is_there = [&](const LiveContainer& each) { return each.cpus.intersects(cpus); };
  if (std::none_of(unknown_.begin(), unknown_.end(), is_there)) return {};
  note_unknown(TRY(find_unknown()));
  const auto found = std::find_if(unknown_.begin(), unknown_.end(), is_there);
  if (found == unknown_.end()) return {};
  return Error{Code::kIo, fmt::format("CPUs {} are in use by {}", (found->cpus & cpus).str(),
                                      describe(*found, root()))};
}

}  // namespace corehold
