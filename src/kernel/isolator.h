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

#include <cstdint>
#include <functional>
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
  // Affinities that a change of a cpuset had reset and that were given back in this round.
  int pins_restored = 0;

  bool operator==(const IsolationReport&) const = default;
};

// Where the journal of the machine's last agent is, and a copy of it; gone with the boot.
inline constexpr const char* kJournalOwner = "/run/corehold/isolation";

// How the machine is seen and changed where a kernel is. Tests have other ways: what is empty here
// is the kernel's.
struct FenceAccess {
  std::function<Result<FenceReading>(const CpuSet& online)> read{};
  std::map<Target::Kind, TargetHandler> targets{};
  // kNotFound: it has ended, or is not the one that was started then.
  std::function<Result<void>(pid_t tid, std::uint64_t start, const CpuSet& cpus)> set_affinity{};
};

struct IsolatorOptions {
  std::string journal{};  // its file
  // kJournalOwner for the machine's agent, of which there is one; empty: other journals are left
  // alone.
  std::string owner{};
  FencePlaces places{};
  MachineReader::Places machine{};
  FenceAccess access{};
};

class Isolator {
 public:
  // `units` must outlive it.
  Isolator(IsolatorOptions options, Units& units);
  Isolator(const Isolator&) = delete;
  Isolator& operator=(const Isolator&) = delete;

  // Without held CPUs, or at level containers, gives everything back. Where all CPUs are held that
  // are online it touches nothing and says so. Fails when the journal cannot be read, and there is
  // no copy of it, or cannot be written, and then touches nothing, or when the machine's tasks
  // cannot be read. A journal that cannot be read is put aside where the copy is sound.
  Result<IsolationReport> apply(const IsolationWish& wish);

 private:
  // What the kernel has refused for a reason of its own, and would again.
  struct RefusedValue {
    std::string value{};
    Leftover leftover{};
  };

  Result<void> load(IsolationReport& report);
  Result<void> take_over();
  void give_up_machine();
  Result<void> save();
  // Whether nothing was missing in the end.
  Result<bool> run_part(const IsolationPart& part, const IsolationWish& wish,
                        IsolationReport& report);
  void take_back_note(const std::map<Target, JournalEntry>& before, const Change& change);
  bool is_gone(const Target& target) const;
  // Whether anything was written that was not there.
  Result<bool> make(const IsolationPart& part, const Changes& changes);
  Result<void> restore(IsolationLevel keep, const CpuSet& online, IsolationReport& report);
  Result<void> lift(const IsolationWish& wish, IsolationReport& report);
  Result<FenceReading> look_at_tasks(const CpuSet& online);
  void give_back_moved(const CpuSet& online, FenceReading& reading);
  void forget_absent_groups(const FenceView& view);
  Result<IsolationPlan> plan_tasks(const IsolationWish& wish);
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

// The journal of whoever has changed this machine: the copy that `owner` has of it where that is
// sound and of this boot, else the one in the file.
Result<IsolationJournal> read_machine_journal(const std::string& path, const std::string& owner,
                                              const std::string& proc = "/proc");

}  // namespace corehold
