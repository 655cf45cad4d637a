// SPDX-License-Identifier: Apache-2.0
//
// A Change is one value of the machine, outside Corehold's own containers, that isolation wants to
// be another: a file of the kernel, the CPUs of a systemd unit, the CPUs that irqbalance keeps off,
// the affinity of a task. Plans are lists of changes in the order in which they are made; each is
// read back. A change whose value the machine has already is not planned, so that plans are
// idempotent and cost follows what has changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isolation/level.h"

namespace corehold {

struct Target {
  enum class Kind {
    kFile,        // name: the path
    kUnit,        // name: a systemd unit; the value is its AllowedCPUs as a list, "" for none
    kIrqBalance,  // name: its socket; the value is the list of CPUs it keeps off, "" for none
    kTask,        // name: "TID START", as /proc/TID/stat counts the start; the value is an affinity
    // name: the directory of a cpuset of cgroup v1 that Corehold makes for everybody else; the
    // value is its CPUs, "" where there is no such cpuset
    kCpuset,
    // name: "TID START"; the value is the file of a cpuset of v1 that the number is written to, the
    // value before is the cpuset that the task is in: "/"
    kMember,
  };
  Kind kind = Kind::kFile;
  std::string name{};

  auto operator<=>(const Target&) const = default;
};

// What becomes of a value when isolation ends.
enum class Restore {
  kBefore,  // the value before the first change is written again where ours still stands
  kNever,   // it follows from another change (a task's affinity), or ends with the machine's life
};

// How the value read back is compared with the one written.
enum class Compare {
  kCpuList,  // as sets of CPUs
  kText,
};

struct Change {
  Target target{};
  IsolationLevel level = IsolationLevel::kFence;  // the level that asks for it
  std::string before{};                           // what the machine has now
  std::string value{};                            // what it is to have
  Restore restore = Restore::kBefore;
  Compare compare = Compare::kCpuList;

  bool operator==(const Change&) const = default;
};

using Changes = std::vector<Change>;

// "file", "unit", "irqbalance", "task", "cpuset", "member": in the journal and for people.
std::string_view name_of(Target::Kind kind);

// Whether both are the same value: CPU lists as sets, where both can be read as such.
bool is_same_value(Compare compare, const std::string& one, const std::string& other);

// A thing that isolation cannot keep away, for people: named once for as long as it stays so.
struct Leftover {
  enum class Stays {
    kForNow,    // it could be kept away, and somebody can do something about it
    kByNature,  // the kernel moves it for nobody: a managed interrupt
  };

  IsolationLevel level = IsolationLevel::kFence;
  Stays stays = Stays::kForNow;
  std::string what{};    // "interrupt 24 (nvme0q1, managed)"
  std::string reason{};  // "the kernel moves managed interrupts by itself: EPERM"
  std::string advice{};  // what would remove it; may be empty

  bool operator==(const Leftover&) const = default;
};

// What a part of isolation wants: the changes in their order, and what it cannot keep away.
struct IsolationPlan {
  Changes changes{};
  std::vector<Leftover> leftovers{};
  // Tasks that were pinned to held CPUs and to no others, and run elsewhere: fence.h.
  std::vector<std::string> displaced{};

  bool operator==(const IsolationPlan&) const = default;
};

}  // namespace corehold
