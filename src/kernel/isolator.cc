// SPDX-License-Identifier: Apache-2.0
#include "kernel/isolator.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "kernel/machine_parts.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

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

}  // namespace

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
}

Result<void> Isolator::load() {
  journal_ = TRY(read_journal(options_.journal, options_.places.proc));
  saved_.clear();
  return {};
}

// An agent with another directory may have fenced this machine, and has ended with its containers,
// or the directory was lost: what it has changed would else seem to be what the machine had before,
// and nobody would give it back. The journal of whoever was the last becomes ours.
Result<void> Isolator::take_over() {
  if (options_.owner.empty() || is_owner_) return {};
  const std::string own = std::filesystem::absolute(options_.journal).string();
  std::string last;
  if (const auto text = read_file(options_.owner, kMaxJournal)) {
    std::string_view rest = *text;
    last = take_line(rest);
    auto journal = parse_journal(rest);
    if (journal && journal->boot == journal_.boot) journal_ = *std::move(journal);
  }
  TRY(make_directories(options_.owner.substr(0, options_.owner.rfind('/')), kOwnerMode));
  is_owner_ = true;
  saved_.clear();
  TRY(save());
  if (!last.empty() && last != own && ::unlink(last.c_str()) != 0 && errno != ENOENT) {
    return file_error("unlink", last, errno);
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

Result<void> Isolator::note_all_pins(const IsolationWish& wish) {
  FenceReading reading = TRY(read_fence(options_.places, units_, wish.online));
  confined_ = std::move(reading.confined);
  note_pins(journal_.pins, confined_);
  return {};
}

Result<IsolationPlan> Isolator::plan_tasks(const IsolationWish& wish) {
  FenceReading reading = TRY(read_fence(options_.places, units_, wish.online));
  confined_ = std::move(reading.confined);
  note_pins(journal_.pins, confined_);
  forget_ended_tasks(journal_, reading.view);
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
      journal_.entries.erase(change.target);
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
  return true;
}

Result<void> Isolator::run_part(const IsolationPart& part, const IsolationWish& wish,
                                IsolationReport& report) {
  failed_.clear();
  std::vector<Leftover> leftovers;
  std::vector<std::string> displaced;
  bool is_settled = false;
  for (int pass = 0; pass < kMostPasses && !is_settled; ++pass) {
    IsolationPlan plan = TRY(part.plan(wish, journal_));
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
  return {};
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
    if (restored || restored.error().code == Code::kNotFound) {
      journal_.entries.erase(change.target);
    } else {
      report.leftovers.push_back(leftover_of(change, wrap("give back", restored.error())));
    }
  }
  return {};
}

void Isolator::give_back_pins(const IsolationWish& wish, IsolationReport& report) {
  const PinPlan plan = plan_pins(journal_.pins, confined_, wish.held);
  for (const PinRepair& repair : plan.repairs) {
    const auto set = set_affinity(repair.tid, repair.cpus);
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
  if (journal_.boot.empty()) TRY(load());
  TRY(take_over());
  IsolationReport report;
  const bool is_lifted =
      wish.level == IsolationLevel::kContainers || !wish.held.intersects(wish.online);
  if (is_lifted && journal_.entries.empty() && journal_.pins.empty()) {
    // Nothing was changed, or all of it was given back.
  } else if (is_lifted) {
    TRY(note_all_pins(wish));
    TRY(restore(IsolationLevel::kContainers, wish.online, report));
    TRY(note_all_pins(wish));
  } else {
    TRY(restore(wish.level, wish.online, report));
    for (const IsolationPart& part : parts_) {
      if (part.level <= wish.level) TRY(run_part(part, wish, report));
    }
  }
  give_back_pins(wish, report);
  journal_.level = wish.level;
  journal_.held = is_lifted ? CpuSet{} : wish.held;
  journal_.leftovers = report.leftovers;
  journal_.displaced = report.displaced;
  if (journal_.entries.empty()) journal_.since = 0;
  TRY(save());
  if (is_lifted && journal_.entries.empty() && journal_.pins.empty()) give_up_machine();
  return report;
}

}  // namespace corehold
