// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "cli/quiet/quiet_render.h"

namespace corehold {
namespace {

namespace json = boost::json;

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string text_of(std::string_view text) { return std::string(text); }

json::object task_json(const ForeignTask& foreign) {
  json::object row{{"pid", foreign.task.pid},
                   {"tid", foreign.task.tid},
                   {"name", foreign.task.name},
                   {"cgroup", foreign.task.cgroup},
                   {"kind", text_of(name_of(foreign.kind))},
                   {"affinity", foreign.task.affinity.str()},
                   {"cpus", foreign.cpus.str()},
                   {"lastCpu", foreign.task.last_cpu},
                   {"ranNanoseconds", foreign.ran_ns},
                   {"totalNanoseconds", foreign.task.run_ns},
                   {"removedBy", text_of(name_of(foreign.removal))}};
  if (!foreign.container.empty()) row["container"] = foreign.container;
  return row;
}

json::object interrupt_json(const ForeignInterrupt& foreign) {
  return {{"number", foreign.number},
          {"devices", json::value_from(foreign.devices)},
          {"kind", text_of(name_of(foreign.kind))},
          {"cpus", foreign.cpus.str()},
          {"effective", foreign.effective.str()},
          {"removedBy", text_of(name_of(foreign.removal))}};
}

json::array counts_json(const std::vector<CpuCount>& counts) {
  json::array list;
  for (const CpuCount& count : counts) {
    json::object row{{"label", count.label}};
    if (!count.what.empty()) row["what"] = count.what;
    if (count.kind) row["kind"] = text_of(name_of(*count.kind));
    row["count"] = count.count;
    row["total"] = count.total;
    row["removedBy"] = text_of(name_of(count.removal));
    list.push_back(std::move(row));
  }
  return list;
}

json::object spent_json(const CpuTime& spent) {
  constexpr std::uint64_t kMillisecondsPerTick = 10;
  json::object row{{"userMilliseconds", spent.user * kMillisecondsPerTick},
                   {"systemMilliseconds", spent.system * kMillisecondsPerTick},
                   {"idleMilliseconds", spent.idle * kMillisecondsPerTick},
                   {"irqMilliseconds", spent.irq * kMillisecondsPerTick},
                   {"softirqMilliseconds", spent.softirq * kMillisecondsPerTick},
                   {"stealMilliseconds", spent.steal * kMillisecondsPerTick}};
  if (spent.run_ns) row["runNanoseconds"] = *spent.run_ns;
  if (spent.wait_ns) row["waitNanoseconds"] = *spent.wait_ns;
  return row;
}

json::object cpu_json(const QuietReport& report, const CpuQuiet& cpu) {
  json::object row{{"cpu", cpu.cpu.value}};
  if (!cpu.holder.empty()) row["heldBy"] = cpu.holder;
  row["siblings"] = cpu.siblings.str();
  row["siblingsOfOthers"] = cpu.loose_siblings.str();
  row["mayRun"] = {{"tasks", cpu.may_run.tasks},
                   {"kernelThreads", cpu.may_run.kernel_threads},
                   {"boundThreads", cpu.may_run.bound_threads},
                   {"interrupts", cpu.may_run.interrupts},
                   {"managedInterrupts", cpu.may_run.managed_interrupts},
                   {"tick", cpu.may_run.tick},
                   {"rcuCallbacks", cpu.may_run.rcu_callbacks}};
  json::array ran;
  for (const std::size_t index : cpu.ran) {
    const ForeignTask& foreign = report.tasks[index];
    ran.push_back({{"tid", foreign.task.tid},
                   {"name", foreign.task.name},
                   {"ranNanoseconds", foreign.ran_ns},
                   {"removedBy", text_of(name_of(foreign.removal))}});
  }
  row["ran"] = std::move(ran);
  row["ranNanoseconds"] = cpu.ran_ns;
  row["interrupts"] = counts_json(cpu.interrupts);
  row["softirqs"] = counts_json(cpu.softirqs);
  row["spent"] = spent_json(cpu.spent);
  return row;
}

json::object advice_json(const QuietAdvice& advice) {
  json::object row{{"setting", advice.setting}};
  if (!advice.cpus.empty()) row["cpus"] = advice.cpus.str();
  row["now"] = advice.now;
  row["advised"] = advice.advised;
  row["why"] = advice.why;
  row["files"] = json::value_from(advice.files);
  return row;
}

}  // namespace

json::object quiet_json(const QuietReport& report) {
  json::object document{{"watchedSeconds", seconds_of(report.watched)},
                        {"kernel",
                         {{"release", report.kernel.release},
                          {"isolated", report.kernel.isolated.str()},
                          {"isolcpus", report.kernel.isolcpus.str()},
                          {"nohzFull", report.kernel.nohz_full.str()},
                          {"rcuNocbs", report.kernel.rcu_nocbs.str()}}}};
  json::array cpus;
  for (const CpuQuiet& cpu : report.cpus) cpus.push_back(cpu_json(report, cpu));
  json::array tasks;
  for (const ForeignTask& foreign : report.tasks) tasks.push_back(task_json(foreign));
  json::array interrupts;
  for (const ForeignInterrupt& foreign : report.interrupts) {
    interrupts.push_back(interrupt_json(foreign));
  }
  json::array advice;
  for (const QuietAdvice& item : report.advice) advice.push_back(advice_json(item));
  document["cpus"] = std::move(cpus);
  document["tasks"] = std::move(tasks);
  document["interrupts"] = std::move(interrupts);
  document["advice"] = std::move(advice);
  return document;
}

json::object jitter_json(const JitterResult& result) {
  json::array histogram;
  for (const PauseHistogram::Row& row : result.pauses.rows()) {
    histogram.push_back(
        {{"fromNanoseconds", row.from}, {"toNanoseconds", row.to}, {"count", row.count}});
  }
  return {{"cpu", result.cpu.value},
          {"watchedSeconds", seconds_of(result.watched)},
          {"rounds", result.rounds},
          {"shortestRoundNanoseconds", result.shortest},
          {"thresholdNanoseconds", result.threshold.count()},
          {"pauses", result.pauses.count()},
          {"lostNanoseconds", result.pauses.sum()},
          {"p50Nanoseconds", result.pauses.percentile(500)},
          {"p99Nanoseconds", result.pauses.percentile(990)},
          {"p999Nanoseconds", result.pauses.percentile(999)},
          {"maxNanoseconds", result.pauses.max()},
          {"histogram", std::move(histogram)}};
}

}  // namespace corehold
