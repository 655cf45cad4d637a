// SPDX-License-Identifier: Apache-2.0
//
// Isolator: brings the machine to where isolation wants it. It runs the parts of isolation in
// their order (parts.h), each until nothing is missing any more: plan, note in the journal, write
// and read back. What cannot be kept away is named, not an error. Asking again for the same is
// cheap and finds what has come since: new tasks, groups and interrupts, and values of others.
//
// All of it may block and costs as much as the machine has tasks: it belongs on a worker thread,
// and is used by one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "isolation/journal.h"
#include "isolation/wish.h"
#include "kernel/machine.h"
#include "kernel/parts.h"
#include "kernel/targets.h"
#include "kernel/units.h"

namespace corehold {

inline std::string journal_path(const std::string& root) { return root + "/isolation.json"; }

struct IsolationReport {
  std::vector<Leftover> leftovers{};
  // Tasks that were pinned to held CPUs and to no others, and run elsewhere.
  std::vector<std::string> displaced{};

  bool operator==(const IsolationReport&) const = default;
};

// Where the journal of the machine's last agent is, and a copy of it; gone with the boot.
inline constexpr const char* kJournalOwner = "/run/corehold/isolation";

struct IsolatorOptions {
  std::string journal{};  // its file
  // kJournalOwner for the machine's agent, of which there is one; empty: other journals are left
  // alone.
  std::string owner{};
  FencePlaces places{};
  MachineReader::Places machine{};
};

class Isolator {
 public:
  // `units` must outlive it.
  Isolator(IsolatorOptions options, Units& units);
  Isolator(const Isolator&) = delete;
  Isolator& operator=(const Isolator&) = delete;

  // Without held CPUs, or at level containers, gives everything back. Fails when the journal
  // cannot be read or written, and then touches nothing, or when the machine's tasks cannot be
  // read.
  Result<IsolationReport> apply(const IsolationWish& wish);

 private:
  // What the kernel has refused for a reason of its own, and would again.
  struct RefusedValue {
    std::string value{};
    Leftover leftover{};
  };

  Result<void> load();
  Result<void> take_over();
  void give_up_machine();
  Result<void> save();
  Result<void> run_part(const IsolationPart& part, const IsolationWish& wish,
                        IsolationReport& report);
  void take_back_note(const std::map<Target, JournalEntry>& before, const Change& change);
  // Whether anything was written.
  Result<bool> make(const IsolationPart& part, const Changes& changes);
  Result<void> restore(IsolationLevel keep, const CpuSet& online, IsolationReport& report);
  Result<IsolationPlan> plan_tasks(const IsolationWish& wish);
  Result<void> note_all_pins(const IsolationWish& wish);
  void give_back_pins(const IsolationWish& wish, IsolationReport& report);

  IsolatorOptions options_;
  Units& units_;
  Targets targets_;
  MachineReader machine_;
  std::vector<IsolationPart> parts_;
  IsolationJournal journal_{};
  bool is_owner_ = false;
  std::string saved_{};  // the text of the journal as it is in the file
  std::map<Target, RefusedValue> refused_{};
  std::map<Target, Leftover> failed_{};   // in this round
  std::vector<ConfinedTask> confined_{};  // as last read
};

// The journal as it is in the file: empty where there is none, or where it is of another boot.
// Fails with kCorrupt.
Result<IsolationJournal> read_journal(const std::string& path, const std::string& proc = "/proc");

}  // namespace corehold
