// SPDX-License-Identifier: Apache-2.0
#include "kernel/isolator.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "kernel/machine_parts.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"
#include "sys/file/move_aside.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxJournal = std::size_t{64} * 1024 * 1024;
constexpr mode_t kOwnerMode = 0755;
constexpr int kMostPasses = 20;  // of one part, while others go on forking

Result<std::string> boot_id(const std::string& proc) {
  return read_kernel_file(proc + "/sys/kernel/random/boot_id");
}

Leftover leftover_of(const Change& change, const Error& error) {
  return {.level = change.level,
          .what = fmt::format("{} {}", name_of(change.target.kind), change.target.name),
          .reason = error.message};
}

// The kernel has its reasons: asked again, it says the same.
bool is_final(const Error& error) {
  return error.number == EIO || error.number == EPERM || error.number == EINVAL ||
         error.number == EOPNOTSUPP;
}

// All CPUs that are online are held, since others were taken away: nobody would be left with one.
Leftover no_rest(const IsolationWish& wish) {
  return {.what = "the rest of the machine",
          .reason = fmt::format("containers hold all CPUs that are online: {}", wish.online.str()),
          .advice = "bring another CPU online, or end a container"};
}

// What kJournalOwner has: the file of the journal, and the journal where it is sound.
struct OwnerCopy {
  std::string file{};
  std::optional<IsolationJournal> journal{};
};

OwnerCopy read_owner(const std::string& owner, const std::string& boot) {
  OwnerCopy copy;
  const auto text = read_file(owner, kMaxJournal);
  if (!text) return copy;
  std::string_view rest = *text;
  copy.file = take_line(rest);
  auto journal = parse_journal(rest);
  if (journal && journal->boot == boot) copy.journal = *std::move(journal);
  return copy;
}

void make_utf8(IsolationReport& report) {
  for (Leftover& leftover : report.leftovers) {
    for (std::string* text : {&leftover.what, &leftover.reason, &leftover.advice}) {
      *text = valid_utf8(*text);
    }
  }
  for (std::string& each : report.displaced) each = valid_utf8(each);
}

}  // namespace

Result<IsolationJournal> read_machine_journal(const std::string& path, const std::string& owner,
                                              const std::string& proc) {
  const std::string boot = TRY(boot_id(proc));
  if (!owner.empty()) {
    if (auto copy = read_owner(owner, boot); copy.journal) return *std::move(copy.journal);
  }
  return read_journal(path, proc);
}

Result<IsolationJournal> read_journal(const std::string& path, const std::string& proc) {
  const std::string boot = TRY(boot_id(proc));
  const auto text = read_file(path, kMaxJournal);
  if (!text && text.error().code != Code::kNotFound) return text.error();
  if (!text) return IsolationJournal{.boot = boot};
  auto journal = parse_journal(*text);
  if (!journal) {
    Error error = wrap(path, journal.error());
    error.message +=
        "; remove it to go on: what was changed before is then not given back until the next boot";
    return error;
  }
  if (journal->boot != boot) return IsolationJournal{.boot = boot};
  return *std::move(journal);
}

Isolator::Isolator(IsolatorOptions options, Units& units)
    : options_(std::move(options)),
      units_(units),
      targets_(options_.places, units),
      machine_(options_.machine) {
  parts_ = {
      {.name = "tasks",
       .level = IsolationLevel::kFence,
       .plan = [this](const IsolationWish& wish, IsolationJournal&) { return plan_tasks(wish); }},
  };
  for (IsolationPart& part : machine_parts(machine_)) parts_.push_back(std::move(part));
  targets_.add(Target::Kind::kIrqBalance, irqbalance_handler(machine_));
  FenceAccess& access = options_.access;
  for (const auto& [kind, handler] : access.targets) targets_.add(kind, handler);
  if (!access.read) {
    access.read = [this](const CpuSet& online) {
      return read_fence(options_.places, units_, online);
    };
  }
  if (!access.set_affinity) {
    access.set_affinity = [this](pid_t tid, std::uint64_t start, const CpuSet& cpus) {
      return set_affinity(tid, start, cpus, options_.places.proc);
    };
  }
}

// A journal that cannot be read is as none where there is a copy of it.
Result<void> Isolator::load(IsolationReport& report) {
  saved_.clear();
  auto own = read_journal(options_.journal, options_.places.proc);
  if (own) {
    journal_ = *std::move(own);
    return {};
  }
  const std::string boot = TRY(boot_id(options_.places.proc));
  if (options_.owner.empty() || !read_owner(options_.owner, boot).journal) return own.error();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto aside = TRY(
      move_aside({options_.journal}, std::chrono::duration_cast<std::chrono::milliseconds>(now)));
  report.leftovers.push_back(
      {.what = options_.journal,
       .reason = fmt::format("{}; its copy {} is used, and it is now {}", own.error().message,
                             options_.owner, fmt::join(aside, ", ")),
       .advice = "look at the file, and at the disk that it is on"});
  journal_ = IsolationJournal{.boot = boot};
  return {};
}

// An agent with another directory may have fenced this machine, and has ended with its containers,
// or the directory was lost: what it has changed would else seem to be what the machine had before,
// and nobody would give it back. The journal of whoever was the last becomes ours.
Result<void> Isolator::take_over() {
  if (options_.owner.empty() || is_owner_) return {};
  const std::string own = std::filesystem::absolute(options_.journal).string();
  OwnerCopy last = read_owner(options_.owner, journal_.boot);
  const bool is_anothers = !last.file.empty() && last.file != own;
  if (!last.journal && is_anothers) {
    auto read = read_journal(last.file, options_.places.proc);
    if (read && !read->entries.empty()) last.journal = *std::move(read);
  }
  const bool is_taken_over = last.journal.has_value();
  if (is_taken_over) journal_ = *std::move(last.journal);
  TRY(make_directories(options_.owner.substr(0, options_.owner.rfind('/')), kOwnerMode));
  is_owner_ = true;
  saved_.clear();
  TRY(save());
  if (is_anothers && is_taken_over && ::unlink(last.file.c_str()) != 0 && errno != ENOENT) {
    return file_error("unlink", last.file, errno);
  }
  return {};
}

// Nothing is left to give back, by us or by anybody after us.
void Isolator::give_up_machine() {
  if (is_owner_) ::unlink(options_.owner.c_str());
  is_owner_ = false;
}

Result<void> Isolator::save() {
  std::string text = journal_text(journal_);
  if (text == saved_) return {};
  // Nothing in it means anything after a power cut.
  TRY(replace_file(options_.journal, text));
  if (is_owner_) {
    const std::string own = std::filesystem::absolute(options_.journal).string();
    TRY(replace_file(options_.owner, fmt::format("{}\n{}", own, text)));
  }
  saved_ = std::move(text);
  return {};
}

// Tasks that somebody has moved out of the root cgroup are kept off held CPUs by the cgroup they
// are in, and have a pin like others there.
void Isolator::give_back_moved(const CpuSet& online, FenceReading& reading) {
  std::map<pid_t, PinRepair> repairs;
  for (PinRepair& repair : plan_moved_tasks(journal_, reading.confined)) {
    repairs.insert({repair.tid, std::move(repair)});
  }
  for (ConfinedTask& each : reading.confined) {
    Task& task = each.task;
    journal_.entries.erase({.kind = Target::Kind::kTask, .name = task_name(task)});
    const auto repair = repairs.find(task.tid);
    if (repair == repairs.end()) continue;
    const CpuSet& own = repair->second.cpus;
    // A task cannot be put on CPUs of which its cgroup allows none.
    const CpuSet wanted = own.intersects(each.allowed) ? own : online;
    const auto set = options_.access.set_affinity(task.tid, task.start, wanted);
    if (!set) {
      if (set.error().code == Code::kNotFound) continue;
      reading.leftovers.push_back(
          {.what = fmt::format("affinity of task {} ({})", task.tid, task.name),
           .reason = wrap("give back", set.error()).message});
      continue;
    }
    task.affinity = wanted;
    if (online.is_subset_of(own)) continue;
    journal_.pins.insert_or_assign(task.tid,
                                   TaskPin{.start = task.start, .name = task.name, .cpus = own});
  }
}

// Reads who is outside of containers, and brings the notes of tasks up to date.
Result<FenceReading> Isolator::look_at_tasks(const CpuSet& online) {
  FenceReading reading = TRY(options_.access.read(online));
  std::set<std::string> living;
  for (const Task& task : reading.view.tasks) living.insert(task_name(task));
  for (const ConfinedTask& each : reading.confined) living.insert(task_name(each.task));
  // A task in a container has the affinity that the runtime has given it.
  forget_ended_tasks(journal_, living);
  if (reading.view.way == FenceView::Way::kGroups) give_back_moved(online, reading);
  note_pins(journal_.pins, reading.confined, journal_.looked);
  journal_.looked = std::max(journal_.looked, newest_start(reading.confined));
  confined_ = reading.confined;
  return reading;
}

// A group that is gone, or that somebody else has made anew or set since, has nothing of ours that
// could be given back. A unit that has only been stopped keeps its CPUs.
void Isolator::forget_absent_groups(const FenceView& view) {
  std::set<Target> seen;
  for (const FenceGroup& group : view.groups) seen.insert(group.target);
  std::erase_if(journal_.entries, [&](const auto& each) {
    const auto& [target, entry] = each;
    const bool is_group = target.kind == Target::Kind::kUnit || target.kind == Target::Kind::kFile;
    if (!is_group || entry.level != IsolationLevel::kFence || seen.contains(target)) return false;
    const auto now = targets_.read(target);
    return now ? !is_ours(entry, *now) : now.error().code == Code::kNotFound;
  });
}

Result<IsolationPlan> Isolator::plan_tasks(const IsolationWish& wish) {
  FenceReading reading = TRY(look_at_tasks(wish.online));
  forget_absent_groups(reading.view);
  note_inherited(journal_, reading.view, wish.online);
  const CpuSet rest = wish.rest();
  if (std::find(journal_.rests.begin(), journal_.rests.end(), rest) == journal_.rests.end()) {
    journal_.rests.push_back(rest);
  }
  IsolationPlan plan = plan_fence(reading.view, wish, journal_);
  std::move(reading.leftovers.begin(), reading.leftovers.end(), std::back_inserter(plan.leftovers));
  const bool has_task =
      std::any_of(plan.changes.begin(), plan.changes.end(),
                  [](const Change& change) { return change.target.kind == Target::Kind::kTask; });
  if (has_task && journal_.since == 0) {
    for (const Task& task : reading.view.tasks) {
      journal_.since = std::max(journal_.since, task.start);
    }
  }
  return plan;
}

// After a write that failed: nothing was changed where the machine has the value it had. Else, as
// with a unit that systemd has changed and the kernel has not yet, the note stays.
void Isolator::take_back_note(const std::map<Target, JournalEntry>& before, const Change& change) {
  if (change.restore == Restore::kNever) return;
  const auto now = targets_.read(change.target);
  if (!now || !is_same_value(change.compare, *now, change.before)) return;
  const auto known = before.find(change.target);
  if (known == before.end()) {
    journal_.entries.erase(change.target);
  } else {
    journal_.entries.insert_or_assign(change.target, known->second);
  }
}

bool Isolator::is_gone(const Target& target) const {
  const auto now = targets_.read(target);
  return !now && now.error().code == Code::kNotFound;
}

Result<bool> Isolator::make(const IsolationPart& part, const Changes& changes) {
  Changes tried;
  for (const Change& change : changes) {
    if (failed_.contains(change.target)) continue;
    const auto refused = refused_.find(change.target);
    if (refused != refused_.end() && refused->second.value == change.value) {
      failed_.insert_or_assign(change.target, refused->second.leftover);
      continue;
    }
    tried.push_back(change);
  }
  if (tried.empty()) return false;
  const std::map<Target, JournalEntry> before = journal_.entries;
  for (const Change& change : tried) note(journal_, change);
  TRY(save());
  for (const Change& change : tried) {
    const auto made = targets_.write(change);
    if (made) {
      confirm(journal_, change.target);
      continue;
    }
    take_back_note(before, change);
    if (made.error().code == Code::kNotFound) {
      // Something on the way may be missing although the target is there, and was changed.
      if (is_gone(change.target)) journal_.entries.erase(change.target);
      continue;
    }
    if (part.refused) {
      part.refused(change, made.error());
      continue;
    }
    const Leftover leftover = leftover_of(change, made.error());
    failed_.insert_or_assign(change.target, leftover);
    if (!is_final(made.error())) continue;
    refused_.insert_or_assign(change.target,
                              RefusedValue{.value = change.value, .leftover = leftover});
  }
  return std::any_of(tried.begin(), tried.end(),
                     [](const Change& change) { return change.value != change.before; });
}

Result<bool> Isolator::run_part(const IsolationPart& part, const IsolationWish& wish,
                                IsolationReport& report) {
  failed_.clear();
  std::vector<Leftover> leftovers;
  std::vector<std::string> displaced;
  bool is_settled = false;
  for (int pass = 0; pass < kMostPasses && !is_settled; ++pass) {
    IsolationPlan plan = TRY(part.plan(wish, journal_));
    if (pass == 0) count_look(journal_, part.level, plan.changes);
    IsolationPlan checked = check_writers(journal_, plan.changes);
    is_settled = !TRY(make(part, checked.changes));
    leftovers = std::move(plan.leftovers);
    std::move(checked.leftovers.begin(), checked.leftovers.end(), std::back_inserter(leftovers));
    displaced = std::move(plan.displaced);
  }
  std::move(leftovers.begin(), leftovers.end(), std::back_inserter(report.leftovers));
  std::move(displaced.begin(), displaced.end(), std::back_inserter(report.displaced));
  for (const auto& [target, leftover] : failed_) report.leftovers.push_back(leftover);
  if (!is_settled) {
    report.leftovers.push_back({.level = part.level,
                                .what = std::string(part.name),
                                .reason = "new ones come faster than they can be moved"});
  }
  return is_settled;
}

// Only where our value still stands; what somebody else has set since is theirs.
Result<void> Isolator::restore(IsolationLevel keep, const CpuSet& online, IsolationReport& report) {
  Changes changes;
  for (const Change& change : plan_restore(journal_, keep)) {
    const auto now = targets_.read(change.target);
    JournalEntry& entry = journal_.entries.at(change.target);
    if (now && is_ours(entry, *now) && !is_same_value(change.compare, *now, change.value)) {
      changes.push_back(change);
      // What had no CPUs of its own has all of them on the way there (targets.cc). An agent that
      // comes after one that has ended in between must take that for a value of ours.
      if (change.value.empty()) entry.previous = online.str();
    } else if (now || now.error().code == Code::kNotFound) {
      journal_.entries.erase(change.target);
    } else {
      report.leftovers.push_back(leftover_of(change, wrap("give back", now.error())));
    }
  }
  TRY(save());
  for (const Change& change : changes) {
    const auto restored = targets_.write(change);
    const bool is_absent = !restored && restored.error().code == Code::kNotFound;
    if (restored || (is_absent && is_gone(change.target))) {
      journal_.entries.erase(change.target);
    } else if (!is_absent) {
      report.leftovers.push_back(leftover_of(change, wrap("give back", restored.error())));
    }
  }
  return {};
}

// Tasks with an affinity of ours go on starting others until they have their own again: those have
// inherited it, and are looked for until there are none.
Result<void> Isolator::lift(const IsolationWish& wish, IsolationReport& report) {
  std::map<Target, JournalEntry> given_back;
  IsolationReport last;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    FenceReading reading = TRY(look_at_tasks(wish.online));
    const auto inherited = note_inherited(journal_, reading.view, wish.online, given_back);
    if (pass > 0 && inherited == 0) break;
    for (const auto& [target, entry] : journal_.entries) {
      if (target.kind == Target::Kind::kTask) given_back.insert({target, entry});
    }
    last = {};
    TRY(restore(IsolationLevel::kContainers, wish.online, last));
  }
  std::move(last.leftovers.begin(), last.leftovers.end(), std::back_inserter(report.leftovers));
  give_back_pins(wish, report);
  return {};
}

void Isolator::give_back_pins(const IsolationWish& wish, IsolationReport& report) {
  const PinPlan plan = plan_pins(journal_.pins, confined_, wish.held);
  for (const PinRepair& repair : plan.repairs) {
    const auto set = options_.access.set_affinity(repair.tid, repair.start, repair.cpus);
    if (set) ++report.pins_restored;
    if (set || set.error().code == Code::kNotFound) continue;
    report.leftovers.push_back(
        {.what = fmt::format("affinity of task {} ({})", repair.tid, repair.name),
         .reason = wrap("give back", set.error()).message});
  }
  report.displaced.insert(report.displaced.end(), plan.displaced.begin(), plan.displaced.end());
}

Result<IsolationReport> Isolator::apply(const IsolationWish& wish) {
  units_.begin();
  targets_.set_online(wish.online);
  IsolationReport report;
  const bool is_lifted =
      wish.level == IsolationLevel::kContainers || !wish.held.intersects(wish.online);
  if (!is_lifted && wish.rest().empty()) {
    report.leftovers.push_back(no_rest(wish));
    return report;
  }
  if (journal_.boot.empty()) TRY(load(report));
  TRY(take_over());
  if (is_lifted) {
    const bool is_changed = !journal_.entries.empty() || !journal_.pins.empty();
    if (is_changed) TRY(lift(wish, report));
  } else {
    TRY(restore(wish.level, wish.online, report));
    for (const IsolationPart& part : parts_) {
      if (part.level > wish.level) continue;
      const bool is_settled = TRY(run_part(part, wish, report));
      if (part.level != IsolationLevel::kFence) continue;
      // The cpusets are as they are to be.
      if (is_settled) journal_.rests = {wish.rest()};
      give_back_pins(wish, report);
    }
  }
  make_utf8(report);
  journal_.level = wish.level;
  journal_.held = is_lifted ? CpuSet{} : wish.held;
  journal_.leftovers = report.leftovers;
  journal_.displaced = report.displaced;
  if (journal_.entries.empty()) {
    journal_.since = 0;
    journal_.rests.clear();
  }
  TRY(save());
  if (is_lifted && journal_.entries.empty() && journal_.pins.empty()) give_up_machine();
  return report;
}

}  // namespace corehold
