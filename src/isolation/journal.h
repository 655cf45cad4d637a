// SPDX-License-Identifier: Apache-2.0
//
// The restore journal: what the machine had before isolation changed it, so that it can be given
// back by this agent, a later one, or `corehold isolation release`. It is written before the
// machine is touched. A value before is noted once, before the first write; it is restored only
// where the value that was written last still stands. Nothing in it outlives a boot: the kernel
// forgets all of these values, so a journal of another boot is empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "isolation/change.h"
#include "isolation/level.h"

namespace corehold {

struct JournalEntry {
  std::uint64_t order = 0;  // of the first writes
  IsolationLevel level = IsolationLevel::kFence;
  std::string before{};   // what the machine had
  std::string written{};  // what was written last
  // What stood there before that write, and may still do: the agent can end between its note and
  // its write, and the machine can refuse. The same as `written` once the write is confirmed.
  std::string previous{};
  Compare compare = Compare::kCpuList;
  // How often somebody else's value was found in place of ours, and overwritten; forgiven after
  // kQuietLooks.
  int repairs = 0;
  int quiet = 0;  // looks since the last repair; 0 without one

  bool operator==(const JournalEntry&) const = default;
};

// The affinity that a task has chosen for itself, or was given by its owner.
struct TaskPin {
  std::uint64_t start = 0;
  std::string name{};
  CpuSet cpus{};

  bool operator==(const TaskPin&) const = default;
};

struct IsolationJournal {
  std::string boot{};  // the boot id of the kernel
  IsolationLevel level = IsolationLevel::kContainers;
  CpuSet held{};  // what was asked for last
  std::map<Target, JournalEntry> entries{};
  std::uint64_t writes = 0;  // first writes so far: the highest order
  // The start of the newest task when the first affinity of a task was written; 0: none was.
  std::uint64_t since = 0;
  // What tasks of the root cgroup were given as the CPUs of nobody, as far as one may still have
  // it: more than one while a change is under way, or was when the agent ended.
  std::vector<CpuSet> rests{};
  std::map<pid_t, TaskPin> pins{};       // by thread
  std::uint64_t looked = 0;              // the start of the newest task when pins were noted last
  std::vector<Leftover> leftovers{};     // what could not be kept away
  std::vector<std::string> displaced{};  // tasks that are off the only CPUs they were pinned to

  bool operator==(const IsolationJournal&) const = default;
};

// After so many repairs somebody else's value is left alone, and named.
inline constexpr int kMostRepairs = 3;

// After so many looks that have found our value standing, earlier repairs do not count any more:
// whoever insists writes again, and one who starts anew now and then does not insist.
inline constexpr int kQuietLooks = 10;

std::string journal_text(const IsolationJournal& journal);
// Fails with kCorrupt.
Result<IsolationJournal> parse_journal(std::string_view text);

// What was noted of the target; null: nothing was written there.
const JournalEntry* find_entry(const IsolationJournal& journal, const Target& target);

// Whether a value that the machine shows is the one that our last write has left there, made or
// not.
bool is_ours(const JournalEntry& entry, const std::string& value);

// Notes what is about to be written. Changes that are not restored (Restore::kNever) leave no note.
// A value of somebody else that is about to be overwritten is the one to restore from now on, other
// than in a cpuset of ours, which is to go; that counts as a repair. Not so a thing without CPUs of
// its own, which was made anew, nor a cpuset of ours that the kernel has narrowed because a CPU
// went offline.
void note(IsolationJournal& journal, const Change& change);

// The machine has what was noted last. Need not be saved before anything else is done.
void confirm(IsolationJournal& journal, const Target& target);

// The changes that are to be made: a value of somebody else in the place of ours that was repaired
// kMostRepairs times is left alone and named instead.
IsolationPlan check_writers(const IsolationJournal& journal, const Changes& changes);

// Counts a look at all that the journal has of this level, with the changes that were missing: to
// be called once for each time that the machine is looked at.
void count_look(IsolationJournal& journal, IsolationLevel level, const Changes& changes);

// The changes that give back what was there, the last write first: entries of levels above `keep`.
// Each is made only where a value of ours still stands (is_ours).
Changes plan_restore(const IsolationJournal& journal, IsolationLevel keep);

}  // namespace corehold
