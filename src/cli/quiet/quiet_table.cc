// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/quiet/quiet_render.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kMaxCpuList = 12;
constexpr std::size_t kMaxCgroup = 32;
// Rows of one sort before the rest is summed up.
constexpr std::size_t kMaxRows = 12;

std::string list_of(const CpuSet& cpus) {
  if (cpus.empty()) return "-";
  std::string list = cpus.str();
  return list.size() <= kMaxCpuList ? list : counted(static_cast<std::size_t>(cpus.size()), "CPU");
}

// The end of a path says more than its beginning: ".../session-3.scope".
std::string short_cgroup(const std::string& cgroup) {
  std::string shown = on_one_line(cgroup);
  if (shown.size() <= kMaxCgroup) return shown;
  constexpr std::string_view kBefore = "...";
  const std::size_t slash = shown.find('/', shown.size() - (kMaxCgroup - kBefore.size()));
  const std::size_t from =
      slash == std::string::npos ? shown.size() - (kMaxCgroup - kBefore.size()) : slash;
  return std::string(kBefore) + shown.substr(from);
}

// Whose task it is: of another container that holds CPUs, or of a cgroup.
std::string owner_of(const ForeignTask& foreign) {
  if (foreign.container.empty()) return foreign.task.cgroup;
  return fmt::format("container {}", on_one_line(foreign.container));
}

std::string shown_owner(const std::string& owner) {
  return owner.starts_with('/') ? short_cgroup(owner) : owner;
}

std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width - 3;
  // Not within a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

// "kworker/2:1H-kblockd" is a kworker and "migration/2" a migration: the CPU is in its column.
std::string family_of(const std::string& name) { return name.substr(0, name.find('/')); }

// One line of a table: who, on which CPUs, what removes it, how much.
struct QuietLine {
  std::string who{};
  CpuSet cpus{};
  Removal removal = Removal::kNothing;
  std::string amount{};
};

// Lines below a header, the first column cut so that all fit into 80 columns.
std::string table_of(const Row& header, const std::vector<QuietLine>& lines) {
  std::vector<Row> rows{header};
  for (const QuietLine& line : lines) {
    rows.push_back({line.who, list_of(line.cpus), std::string(name_of(line.removal)), line.amount});
  }
  std::size_t others = 0;
  for (std::size_t column = 1; column < header.size(); ++column) {
    std::size_t widest = 0;
    for (const Row& row : rows) widest = std::max(widest, row[column].size());
    others += widest + 2;
  }
  for (Row& row : rows) row.front() = cut(row.front(), kWidth - others);
  return align(rows, 3);
}

// Things that may run and are shown as one line: how many, where, and their names by frequency.
class RunnerGroup {
 public:
  void add(const std::string& name, const CpuSet& cpus) {
    ++names_[on_one_line(name)];
    cpus_ |= cpus;
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  QuietLine line(const std::string& what, Removal removal) const {
    std::vector<std::pair<std::string, std::size_t>> sorted(names_.begin(), names_.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string who = what + ": ";
    for (std::size_t index = 0; index < sorted.size() && who.size() < kWidth; ++index) {
      who += (index == 0 ? "" : ", ") + sorted[index].first;
    }
    return {
        .who = std::move(who), .cpus = cpus_, .removal = removal, .amount = std::to_string(count_)};
  }

 private:
  std::map<std::string, std::size_t> names_{};
  CpuSet cpus_{};
  std::size_t count_ = 0;
};

std::string devices_of(const std::vector<std::string>& devices) {
  return fmt::format("{}", fmt::join(devices, ", "));
}

// The cgroups with the most tasks, and the rest as one line.
void add_cgroups(const std::map<std::string, RunnerGroup>& cgroups, std::vector<QuietLine>& lines) {
  std::vector<const std::pair<const std::string, RunnerGroup>*> sorted;
  sorted.reserve(cgroups.size());
  for (const auto& cgroup : cgroups) sorted.push_back(&cgroup);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.count() > b->second.count();
  });
  for (std::size_t index = 0; index < sorted.size(); ++index) {
    const auto& [owner, group] = *sorted[index];
    if (index < kMaxRows || sorted.size() == kMaxRows + 1) {
      lines.push_back(group.line(shown_owner(owner), Removal::kFence));
    }
  }
  if (sorted.size() <= kMaxRows + 1) return;
  std::size_t tasks = 0;
  for (std::size_t index = kMaxRows; index < sorted.size(); ++index) {
    tasks += sorted[index]->second.count();
  }
  lines.push_back({.who = fmt::format("{} more cgroups", sorted.size() - kMaxRows),
                   .removal = Removal::kFence,
                   .amount = std::to_string(tasks)});
}

void add_group(const RunnerGroup& group, const std::string& what, Removal removal,
               std::vector<QuietLine>& lines) {
  if (!group.empty()) lines.push_back(group.line(what, removal));
}

std::vector<QuietLine> who_may_run(const QuietReport& report) {
  std::map<std::string, RunnerGroup> cgroups;
  std::map<ForeignKind, RunnerGroup> kinds;
  for (const ForeignTask& foreign : report.tasks) {
    if (foreign.cpus.empty()) continue;
    if (foreign.kind == ForeignKind::kTask) {
      cgroups[owner_of(foreign)].add(foreign.task.name, foreign.cpus);
    } else {
      const bool has_cpu_in_name =
          foreign.kind == ForeignKind::kBoundThread || foreign.kind == ForeignKind::kWorkqueue;
      kinds[foreign.kind].add(has_cpu_in_name ? family_of(foreign.task.name) : foreign.task.name,
                              foreign.cpus);
    }
  }
  for (const ForeignInterrupt& foreign : report.interrupts) {
    kinds[foreign.kind].add(devices_of(foreign.devices), foreign.cpus);
  }
  std::vector<QuietLine> lines;
  add_cgroups(cgroups, lines);
  add_group(kinds[ForeignKind::kKernelThread], "kernel threads", Removal::kFull, lines);
  add_group(kinds[ForeignKind::kWorkqueue], "unbound workqueues", Removal::kFull, lines);
  add_group(kinds[ForeignKind::kInterruptThread], "threads of interrupts", Removal::kIrqs, lines);
  add_group(kinds[ForeignKind::kInterrupt], "interrupts", Removal::kIrqs, lines);
  add_group(kinds[ForeignKind::kManagedInterrupt], "managed interrupts", Removal::kManagedIrq,
            lines);
  add_group(kinds[ForeignKind::kBoundThread], "bound kernel threads", Removal::kNothing, lines);
  CpuSet tick;
  CpuSet callbacks;
  CpuSet beside;
  CpuSet siblings;
  for (const CpuQuiet& cpu : report.cpus) {
    if (cpu.may_run.tick) tick.insert(cpu.cpu);
    if (cpu.may_run.rcu_callbacks) callbacks.insert(cpu.cpu);
    if (cpu.loose_siblings.empty()) continue;
    beside.insert(cpu.cpu);
    siblings |= cpu.loose_siblings;
  }
  const auto add = [&lines](const std::string& who, const CpuSet& cpus, Removal removal) {
    if (!cpus.empty())
      lines.push_back({.who = who, .cpus = cpus, .removal = removal, .amount = "-"});
  };
  add("timer tick", tick, Removal::kNohzFull);
  add("RCU callbacks", callbacks, Removal::kRcuNocbs);
  add(fmt::format("SMT siblings {} share the core", siblings.str()), beside, Removal::kFullCores);
  return lines;
}

// Things that came to CPUs, summed over these.
struct Came {
  std::string who{};
  CpuSet cpus{};
  std::uint64_t count = 0;
  Removal removal = Removal::kNothing;
};

void add_came(const CpuCount& count, CpuId cpu, const std::string& who, std::vector<Came>& all,
              std::map<std::string, std::size_t>& places) {
  const auto [place, is_new] = places.try_emplace(who, all.size());
  if (is_new) all.push_back({.who = who, .removal = count.removal});
  Came& came = all[place->second];
  came.cpus.insert(cpu);
  came.count += count.count;
  // Where it can be removed from one of the CPUs, it says so.
  if (came.removal == Removal::kNothing) came.removal = count.removal;
}

void add_counts(std::vector<Came> all, std::string_view rest, std::vector<QuietLine>& lines) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Came& a, const Came& b) { return a.count > b.count; });
  for (std::size_t index = 0; index < std::min(all.size(), kMaxRows); ++index) {
    lines.push_back({.who = all[index].who,
                     .cpus = all[index].cpus,
                     .removal = all[index].removal,
                     .amount = counted(all[index].count, "time")});
  }
  if (all.size() <= kMaxRows) return;
  Came others{.who = fmt::format("{} more {}", all.size() - kMaxRows, rest)};
  for (std::size_t index = kMaxRows; index < all.size(); ++index) {
    others.count += all[index].count;
    others.cpus |= all[index].cpus;
  }
  lines.push_back({.who = others.who,
                   .cpus = others.cpus,
                   .removal = all.back().removal,
                   .amount = counted(others.count, "time")});
}

void add_ran(const QuietReport& report, std::vector<QuietLine>& lines) {
  std::vector<std::pair<std::size_t, CpuId>> ran;
  for (const CpuQuiet& cpu : report.cpus) {
    for (const std::size_t index : cpu.ran) ran.emplace_back(index, cpu.cpu);
  }
  std::stable_sort(ran.begin(), ran.end(), [&report](const auto& a, const auto& b) {
    return report.tasks[a.first].ran_ns > report.tasks[b.first].ran_ns;
  });
  for (std::size_t index = 0; index < std::min(ran.size(), kMaxRows); ++index) {
    const ForeignTask& foreign = report.tasks[ran[index].first];
    const std::string where = foreign.kind == ForeignKind::kTask
                                  ? fmt::format(" of {}", shown_owner(owner_of(foreign)))
                                  : "";
    lines.push_back(
        {.who = fmt::format("{} ({}){}", on_one_line(foreign.task.name), foreign.task.tid, where),
         .cpus = CpuSet{ran[index].second},
         .removal = foreign.removal,
         .amount = duration_text(foreign.ran_ns)});
  }
  if (ran.size() <= kMaxRows) return;
  std::uint64_t rest = 0;
  CpuSet cpus;
  for (std::size_t index = kMaxRows; index < ran.size(); ++index) {
    rest += report.tasks[ran[index].first].ran_ns;
    cpus.insert(ran[index].second);
  }
  lines.push_back({.who = fmt::format("{} more tasks", ran.size() - kMaxRows),
                   .cpus = cpus,
                   .removal = report.tasks[ran[kMaxRows].first].removal,
                   .amount = duration_text(rest)});
}

std::vector<QuietLine> who_did(const QuietReport& report) {
  std::vector<QuietLine> lines;
  add_ran(report, lines);
  std::vector<Came> interrupts;
  std::vector<Came> softirqs;
  std::map<std::string, std::size_t> places;
  CpuSet stolen_from;
  std::uint64_t stolen = 0;
  for (const CpuQuiet& cpu : report.cpus) {
    for (const CpuCount& count : cpu.interrupts) {
      const std::string what = count.what.empty() ? "" : ": " + on_one_line(count.what);
      add_came(count, cpu.cpu, (count.kind ? "interrupt " : "") + count.label + what, interrupts,
               places);
    }
    for (const CpuCount& count : cpu.softirqs) {
      add_came(count, cpu.cpu, "softirq " + count.label, softirqs, places);
    }
    if (cpu.spent.steal == 0) continue;
    stolen_from.insert(cpu.cpu);
    stolen += cpu.spent.steal;
  }
  add_counts(std::move(interrupts), "interrupts", lines);
  add_counts(std::move(softirqs), "softirqs", lines);
  if (stolen > 0) {
    constexpr std::uint64_t kNanosecondsPerTick = 10'000'000;
    lines.push_back({.who = "the hypervisor ran others (steal)",
                     .cpus = stolen_from,
                     .removal = Removal::kNothing,
                     .amount = duration_text(stolen * kNanosecondsPerTick)});
  }
  return lines;
}

std::string setting_text(const QuietAdvice& advice) {
  if (advice.cpus.empty()) return advice.setting;
  const std::string list = list_of(advice.cpus);
  const bool is_count = list.ends_with("CPUs");
  const char* const before = is_count ? "" : advice.cpus.size() == 1 ? "CPU " : "CPUs ";
  return fmt::format("{}, {}{}", advice.setting, before, list);
}

// "" where nothing is advised.
std::string advice_text(const std::vector<QuietAdvice>& advice) {
  if (advice.empty()) return "";
  constexpr std::size_t kMaxValue = 12;  // "conservative"; the values are the kernel's words
  std::vector<Row> rows{{"SETTING", "NOW", "ADVISED", "WHY"}};
  for (const QuietAdvice& item : advice) {
    rows.push_back(
        {setting_text(item), cut(on_one_line(item.now), kMaxValue), item.advised, item.why});
  }
  return "\nADVICE\n" + align(rows, 4);
}

std::string busy_text(const CpuTime& spent) {
  const std::uint64_t busy = spent.user + spent.system + spent.irq + spent.softirq + spent.steal;
  const std::uint64_t all = busy + spent.idle;
  return all == 0 ? "-" : fmt::format("{} %", (busy * 100 + all / 2) / all);
}

std::string cpus_table(const QuietReport& report) {
  std::vector<Row> rows{{"CPU", "HELD BY", "SIBLING", "TASKS", "THREADS", "IRQS", "RAN", "BUSY"}};
  for (const CpuQuiet& cpu : report.cpus) {
    const MayRun& may = cpu.may_run;
    rows.push_back({std::to_string(cpu.cpu.value), cut(or_dash(cpu.holder), 30),
                    list_of(cpu.siblings), std::to_string(may.tasks),
                    std::to_string(may.kernel_threads + may.bound_threads),
                    std::to_string(may.interrupts + may.managed_interrupts),
                    cpu.ran_ns == 0 ? "-" : duration_text(cpu.ran_ns), busy_text(cpu.spent)});
  }
  return align(rows, 3);
}

std::string boot_text(const KernelFacts& kernel) {
  const auto shown = [](const CpuSet& cpus) {
    return cpus.empty() ? std::string("-") : list_of(cpus);
  };
  return fmt::format("isolcpus {}, nohz_full {}, rcu_nocbs {}", shown(kernel.isolcpus),
                     shown(kernel.nohz_full), shown(kernel.rcu_nocbs));
}

}  // namespace

std::string duration_text(std::uint64_t nanoseconds) {
  struct Unit {
    std::uint64_t size;
    const char* name;
  };
  for (const Unit& unit : {Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}, Unit{1'000, "us"}}) {
    // A value that would be rounded to 1000 of the smaller unit is 1 of this.
    if (nanoseconds < unit.size - unit.size / 2000) continue;
    const double value = static_cast<double>(nanoseconds) / static_cast<double>(unit.size);
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, unit.name);
  }
  return fmt::format("{} ns", nanoseconds);
}

std::string render_quiet_table(const QuietReport& report, const std::string& holders_from) {
  const double seconds = std::chrono::duration<double>(report.watched).count();
  std::string text = align({{"kernel", on_one_line(report.kernel.release)},
                            {"boot", boot_text(report.kernel)},
                            {"holders", on_one_line(holders_from)}},
                           2);
  text += "\n" + cpus_table(report);
  const std::vector<QuietLine> may = who_may_run(report);
  if (!may.empty()) text += "\n" + table_of({"WHO MAY RUN", "CPUS", "REMOVED BY", "COUNT"}, may);
  const std::vector<QuietLine> did = who_did(report);
  const std::string header = fmt::format("WHO DID, IN {:.1f} s", seconds);
  text += "\n";
  text +=
      did.empty() ? header + ": nobody\n" : table_of({header, "CPUS", "REMOVED BY", "RAN"}, did);
  return text + advice_text(report.advice);
}

}  // namespace corehold
