// SPDX-License-Identifier: Apache-2.0
//
// The fence: every task of the machine outside Corehold's containers is kept off the CPUs that
// containers hold. A pure function from what the kernel shows to the changes that are missing, so
// that it can be asked again at any time: when nothing is missing there are no changes.
//
// With cgroup v2 the groups of others get the CPUs that nobody holds, as AllowedCPUs of systemd's
// units or as cpuset.cpus; tasks in the root cgroup, which has no CPUs of its own, get an affinity.
// With cgroup v1 everybody who is in the root cpuset is moved into a cpuset of ours.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cpuset/cpu_set.h"
#include "isolation/change.h"
#include "isolation/journal.h"
#include "isolation/task.h"
#include "isolation/wish.h"

namespace corehold {

// A cgroup v2 of others, with all that is below it.
struct FenceGroup {
  Target target{};       // kUnit, or kFile: its cpuset.cpus
  std::string cgroup{};  // below the mount point: "/system.slice"
  std::string value{};   // what the target has now; "": no CPUs of its own

  bool operator==(const FenceGroup&) const = default;
};

// A cpuset of cgroup v1 that others have made.
struct ForeignCpuset {
  std::string cgroup{};  // below the mount point: "/docker"
  CpuSet cpus{};         // that its tasks may use
  int tasks = 0;

  bool operator==(const ForeignCpuset&) const = default;
};

struct FenceView {
  enum class Way {
    kGroups,  // cgroup v2
    kCpuset,  // cgroup v1
  };
  Way way = Way::kGroups;
  std::vector<FenceGroup> groups{};      // kGroups
  std::string cpuset{};                  // kCpuset: the directory of our cpuset for everybody else
  std::string cpuset_value{};            // its CPUs; "": there is none
  std::vector<ForeignCpuset> foreign{};  // kCpuset
  // Threads of processes in the root of the hierarchy, sorted by process and thread.
  std::vector<Task> tasks{};
  std::set<pid_t> split{};  // processes with other threads elsewhere
};

// "TID START"
std::string task_name(const Task& task);

// For people: "task 123 (postgres), pinned to CPUs 3".
std::string displaced_task(const Task& task, const CpuSet& pin);

// Drops the notes of tasks that are none of these, given by task_name().
void forget_ended_tasks(IsolationJournal& journal, const std::set<std::string>& living);

// Notes the tasks of the root cgroup that were started by one with an affinity of ours and have
// inherited it: without us they would have what that one had. They have the right affinity, so that
// nothing is to be written. `given_back`: notes of tasks that have what they had again, and may
// have started others before. Returns how many were noted.
std::size_t note_inherited(IsolationJournal& journal, const FenceView& view, const CpuSet& online,
                           const std::map<Target, JournalEntry>& given_back = {});

IsolationPlan plan_fence(const FenceView& view, const IsolationWish& wish,
                         const IsolationJournal& journal);

}  // namespace corehold
