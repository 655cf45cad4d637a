// SPDX-License-Identifier: Apache-2.0
#include "isolation/quiet_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace corehold {
namespace {

// A task that goes on between two snapshots: its number is not used again with the same start.
using TaskKey = std::pair<pid_t, std::uint64_t>;

Removal removal_of(ForeignKind kind) {
  switch (kind) {
    case ForeignKind::kTask:
      return Removal::kFence;
    case ForeignKind::kKernelThread:
    case ForeignKind::kWorkqueue:
      return Removal::kFull;
    case ForeignKind::kInterruptThread:
    case ForeignKind::kInterrupt:
      return Removal::kIrqs;
    case ForeignKind::kManagedInterrupt:
      return Removal::kManagedIrq;
    case ForeignKind::kBoundThread:
      return Removal::kNothing;
  }
  return Removal::kNothing;
}

// Of what the kernel counts by name. IPI0 and so on are those of ARM.
Removal removal_of_named(std::string_view label, const MayRun& may_run) {
  if (label == "LOC") return may_run.tick ? Removal::kNohzFull : Removal::kNothing;
  if (label == "RES" || label == "IPI0") return Removal::kFence;  // wakes a task there
  return Removal::kNothing;
}

Removal removal_of_softirq(std::string_view label, const MayRun& may_run) {
  if (label == "TIMER") return may_run.tick ? Removal::kNohzFull : Removal::kNothing;
  if (label == "RCU") return may_run.rcu_callbacks ? Removal::kRcuNocbs : Removal::kNothing;
  if (label == "SCHED") return Removal::kPartition;
  if (label == "HRTIMER" || label == "HI") return Removal::kNothing;
  return Removal::kIrqs;  // NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET: after an interrupt
}

// The container that a task is of, if that holds CPUs: there the task is at home.
const QuietHolder* holder_of(const Task& task, const std::vector<QuietHolder>& holders) {
  if (is_kernel_thread(task)) return nullptr;
  const auto holder = std::find_if(holders.begin(), holders.end(),
                                   [&task](const QuietHolder& each) { return each.owns(task); });
  return holder == holders.end() ? nullptr : &*holder;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

std::optional<std::uint64_t> grown(const std::optional<std::uint64_t>& before,
                                   const std::optional<std::uint64_t>& after) {
  if (!before || !after) return std::nullopt;
  return grown(*before, *after);
}

class Reporter {
 public:
  Reporter(const QuietQuestion& question, const MachineSnapshot& before,
           const MachineSnapshot& after)
      : question_(question), before_(before), after_(after) {
    report_.watched = after.at - before.at;
    report_.kernel = question.kernel;
    report_.advice = quiet_advice(question.settings, question.kernel);
  }

  QuietReport report() && {
    add_cpus();
    add_tasks();
    add_interrupts();
    for (CpuQuiet& cpu : report_.cpus) {
      cpu.interrupts = counts(cpu.cpu, before_.interrupts, after_.interrupts);
      cpu.softirqs = counts(cpu.cpu, before_.softirqs, after_.softirqs);
      for (CpuCount& count : cpu.interrupts) {
        count.removal =
            count.kind ? removal_of(*count.kind) : removal_of_named(count.label, cpu.may_run);
      }
      for (CpuCount& count : cpu.softirqs) {
        count.removal = removal_of_softirq(count.label, cpu.may_run);
      }
      sort_ran(cpu);
    }
    return std::move(report_);
  }

 private:
  void add_cpus() {
    asked_ = question_.cpus & question_.kernel.online;
    for (const CpuId cpu : asked_) {
      places_[cpu] = report_.cpus.size();
      CpuQuiet row{.cpu = cpu};
      CpuSet together{cpu};
      for (const QuietHolder& holder : question_.holders) {
        if (!holder.cpus.contains(cpu)) continue;
        row.holder = holder.name;
        together |= holder.cpus;
      }
      const auto siblings = question_.kernel.smt_siblings.find(cpu);
      if (siblings != question_.kernel.smt_siblings.end()) row.siblings = siblings->second;
      row.siblings.erase(cpu);
      row.loose_siblings = row.siblings - together;
      row.may_run.tick = !question_.kernel.nohz_full.contains(cpu);
      row.may_run.rcu_callbacks = !question_.kernel.rcu_nocbs.contains(cpu);
      row.spent = spent_by(cpu);
      report_.cpus.push_back(std::move(row));
    }
  }

  CpuTime spent_by(CpuId cpu) const {
    const auto before = before_.times.find(cpu);
    const auto after = after_.times.find(cpu);
    if (before == before_.times.end() || after == after_.times.end()) return {};
    const CpuTime& a = before->second;
    const CpuTime& b = after->second;
    return {.user = grown(a.user, b.user),
            .system = grown(a.system, b.system),
            .idle = grown(a.idle, b.idle),
            .irq = grown(a.irq, b.irq),
            .softirq = grown(a.softirq, b.softirq),
            .steal = grown(a.steal, b.steal),
            .run_ns = grown(a.run_ns, b.run_ns),
            .wait_ns = grown(a.wait_ns, b.wait_ns)};
  }

  CpuQuiet* cpu_at(int number) {
    const auto place = places_.find(CpuId(number));
    return place == places_.end() ? nullptr : &report_.cpus[place->second];
  }

  void add_tasks() {
    std::map<TaskKey, std::uint64_t> ran_before;
    for (const Task& task : before_.tasks) ran_before[{task.tid, task.start}] = task.run_ns;
    for (const Task& task : after_.tasks) {
      if (task.pid == question_.self) continue;
      const QuietHolder* holder = holder_of(task, question_.holders);
      const CpuSet home = holder == nullptr ? CpuSet() : holder->cpus;
      ForeignTask foreign{
          .task = task, .kind = kind_of(task), .cpus = (task.affinity & asked_) - home};
      const auto known = ran_before.find({task.tid, task.start});
      foreign.ran_ns = grown(known == ran_before.end() ? 0 : known->second, task.run_ns);
      foreign.removal = removal_of(foreign.kind);
      if (holder != nullptr) foreign.container = holder->name;
      // Without one the kernel would not have run it there: a task that has moved since counts too.
      CpuQuiet* ran_on = foreign.ran_ns > 0 && !home.contains(CpuId(task.last_cpu))
                             ? cpu_at(task.last_cpu)
                             : nullptr;
      if (foreign.cpus.empty() && ran_on == nullptr) continue;
      for (const CpuId cpu : foreign.cpus) count(foreign.kind, *cpu_at(cpu.value));
      if (ran_on != nullptr) {
        ran_on->ran.push_back(report_.tasks.size());
        ran_on->ran_ns += foreign.ran_ns;
      }
      report_.tasks.push_back(std::move(foreign));
    }
  }

  static void count(ForeignKind kind, CpuQuiet& cpu) {
    switch (kind) {
      case ForeignKind::kTask:
        ++cpu.may_run.tasks;
        return;
      case ForeignKind::kKernelThread:
      case ForeignKind::kWorkqueue:
      case ForeignKind::kInterruptThread:
        ++cpu.may_run.kernel_threads;
        return;
      case ForeignKind::kBoundThread:
        ++cpu.may_run.bound_threads;
        return;
      case ForeignKind::kInterrupt:
        ++cpu.may_run.interrupts;
        return;
      case ForeignKind::kManagedInterrupt:
        ++cpu.may_run.managed_interrupts;
        return;
    }
  }

  ForeignKind kind_of_interrupt(int number) const {
    const auto affinity = after_.affinities.find(number);
    const bool is_managed =
        affinity != after_.affinities.end() && affinity->second.managed != Managed::kNo;
    return is_managed ? ForeignKind::kManagedInterrupt : ForeignKind::kInterrupt;
  }

  void add_interrupts() {
    for (const InterruptRow& row : after_.interrupts.rows) {
      // One that no device has asked for does not come.
      if (!row.number || row.devices.empty()) continue;
      const auto affinity = after_.affinities.find(*row.number);
      if (affinity == after_.affinities.end()) continue;
      ForeignInterrupt foreign{.number = *row.number,
                               .devices = row.devices,
                               .kind = kind_of_interrupt(*row.number),
                               .cpus = affinity->second.allowed & asked_,
                               .effective = affinity->second.effective};
      if (foreign.cpus.empty()) continue;
      foreign.removal = removal_of(foreign.kind);
      for (const CpuId cpu : foreign.cpus) count(foreign.kind, *cpu_at(cpu.value));
      report_.interrupts.push_back(std::move(foreign));
    }
  }

  std::vector<CpuCount> counts(CpuId cpu, const InterruptTable& before,
                               const InterruptTable& after) const {
    std::map<std::string_view, std::uint64_t> earlier;
    for (const InterruptRow& row : before.rows) earlier[row.label] = before.count(row, cpu);
    std::vector<CpuCount> result;
    for (const InterruptRow& row : after.rows) {
      const std::uint64_t total = after.count(row, cpu);
      const auto known = earlier.find(row.label);
      const std::uint64_t count = grown(known == earlier.end() ? 0 : known->second, total);
      if (count == 0) continue;
      CpuCount counted{.label = row.label, .what = row.description, .count = count, .total = total};
      if (row.number) {
        counted.kind = kind_of_interrupt(*row.number);
        counted.what = fmt::format("{}", fmt::join(row.devices, ", "));
      }
      result.push_back(std::move(counted));
    }
    return result;
  }

  void sort_ran(CpuQuiet& cpu) const {
    std::sort(cpu.ran.begin(), cpu.ran.end(), [this](std::size_t a, std::size_t b) {
      const ForeignTask& left = report_.tasks[a];
      const ForeignTask& right = report_.tasks[b];
      return left.ran_ns != right.ran_ns ? left.ran_ns > right.ran_ns
                                         : left.task.tid < right.task.tid;
    });
  }

  const QuietQuestion& question_;
  const MachineSnapshot& before_;
  const MachineSnapshot& after_;
  CpuSet asked_{};
  std::map<CpuId, std::size_t> places_{};
  QuietReport report_{};
};

}  // namespace

std::string_view name_of(ForeignKind kind) {
  switch (kind) {
    case ForeignKind::kTask:
      return "task";
    case ForeignKind::kKernelThread:
      return "kernelThread";
    case ForeignKind::kWorkqueue:
      return "workqueue";
    case ForeignKind::kInterruptThread:
      return "interruptThread";
    case ForeignKind::kBoundThread:
      return "boundThread";
    case ForeignKind::kInterrupt:
      return "interrupt";
    case ForeignKind::kManagedInterrupt:
      return "managedInterrupt";
  }
  return "";
}

std::string_view name_of(Removal removal) {
  switch (removal) {
    case Removal::kFence:
      return "level fence";
    case Removal::kIrqs:
      return "level irqs";
    case Removal::kFull:
      return "level full";
    case Removal::kPartition:
      return "partition";
    case Removal::kManagedIrq:
      return "boot managed_irq";
    case Removal::kNohzFull:
      return "boot nohz_full";
    case Removal::kRcuNocbs:
      return "boot rcu_nocbs";
    case Removal::kFullCores:
      return "full-pcpus-only";
    case Removal::kNothing:
      return "nothing";
  }
  return "";
}

bool QuietHolder::owns(const Task& task) const {
  if (std::binary_search(processes.begin(), processes.end(), task.pid)) return true;
  if (cgroup.empty()) return false;
  for (std::size_t at = task.cgroup.find(cgroup); at != std::string::npos;
       at = task.cgroup.find(cgroup, at + 1)) {
    const std::size_t end = at + cgroup.size();
    if (end == task.cgroup.size() || task.cgroup[end] == '/') return true;
  }
  return false;
}

ForeignKind kind_of(const Task& task) {
  if (!is_kernel_thread(task)) return ForeignKind::kTask;
  // Workers of unbound work and rescuers: nobody may set their affinity, but a mask moves them.
  const bool is_worker = task.name.starts_with("kworker/u") || task.affinity.size() > 1;
  if (is_bound(task)) return is_worker ? ForeignKind::kWorkqueue : ForeignKind::kBoundThread;
  if (task.name.starts_with("irq/")) return ForeignKind::kInterruptThread;
  return ForeignKind::kKernelThread;
}

QuietReport quiet_report(const QuietQuestion& question, const MachineSnapshot& before,
                         const MachineSnapshot& after) {
  return Reporter(question, before, after).report();
}

}  // namespace corehold
