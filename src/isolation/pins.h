// SPDX-License-Identifier: Apache-2.0
//
// Affinities that other people's tasks have chosen for themselves. Up to kernel 6.1 a change of a
// cpuset, and with cgroup v1 a move into another one, makes the kernel forget them. So they are
// noted before, in the journal, and given back afterwards within what the task may use then. A
// task is pinned when it cannot use all CPUs that its cgroup lets it use.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "isolation/journal.h"
#include "isolation/task.h"

namespace corehold {

// A task with the CPUs that its cgroup lets it use.
struct ConfinedTask {
  Task task{};
  CpuSet allowed{};
};

// Brings the notes up to date before anything is written: tasks that are pinned are noted, tasks
// that have ended are forgotten, and a task that has pinned itself anew is noted anew.
// `tasks`: all tasks whose cgroup may change. One that is newer than `looked`, the start of the
// newest task at the last look, and has just what is left of the pin of whoever started it, has
// inherited that pin.
void note_pins(std::map<pid_t, TaskPin>& pins, const std::vector<ConfinedTask>& tasks,
               std::uint64_t looked = std::numeric_limits<std::uint64_t>::max());

// The start of the newest of them; 0 without any.
std::uint64_t newest_start(const std::vector<ConfinedTask>& tasks);

struct PinRepair {
  pid_t tid = 0;
  std::uint64_t start = 0;  // another task may have the number by then
  std::string name{};
  CpuSet cpus{};  // what the task had chosen; the kernel takes what is allowed of it

  bool operator==(const PinRepair&) const = default;
};

struct PinPlan {
  std::vector<PinRepair> repairs{};
  // Tasks that were pinned to CPUs that containers hold and to no others, for people:
  // "task 123 (postgres), pinned to CPUs 3".
  std::vector<std::string> displaced{};

  bool operator==(const PinPlan&) const = default;
};

// What is to be given back after the writes. Notes that are not needed any more, because the
// kernel shows the pin itself, are dropped.
PinPlan plan_pins(std::map<pid_t, TaskPin>& pins, const std::vector<ConfinedTask>& tasks,
                  const CpuSet& held);

// Tasks with an affinity of ours that somebody has moved out of the root cgroup since: where they
// are the fence keeps them off held CPUs, so that they get back what they had. One that does not
// have our affinity any more is left alone.
std::vector<PinRepair> plan_moved_tasks(const IsolationJournal& journal,
                                        const std::vector<ConfinedTask>& tasks);

}  // namespace corehold
