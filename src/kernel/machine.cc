// SPDX-License-Identifier: Apache-2.0
#include "kernel/machine.h"

#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "isolation/fence.h"
#include "kernel/interrupts.h"
#include "kernel/kernel_facts.h"
#include "kernel/task.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

std::optional<KernelFile> read_file_at(const std::string& path) {
  const auto text = read_kernel_file(path);
  if (!text) return std::nullopt;
  return KernelFile{.path = path, .text = std::string(trimmed(*text))};
}

constexpr std::chrono::seconds kMoment{1};

// An answer that may be another one soon.
bool is_of_the_moment(int number) {
  return number == EAGAIN || number == EBUSY || number == EINTR || number == ENOMEM ||
         number == ENOSPC || number == ETIMEDOUT;
}

// Kernel threads are the children of kthreadd, and kthreadd: one look at the flags of each process.
std::vector<Task> read_kernel_threads(const std::string& proc) {
  std::vector<Task> threads;
  const auto names = entries_of(proc);
  if (!names) return threads;
  for (const std::string& name : *names) {
    const auto pid = number_in<pid_t>(name);
    if (!pid) continue;
    const auto stat = read_kernel_file(fmt::format("{}/{}/stat", proc, *pid));
    const auto task = stat ? parse_task_stat(*stat) : std::nullopt;
    if (!task || !is_kernel_thread(*task) || is_bound(*task)) continue;
    if (auto whole = read_task(*pid, proc)) threads.push_back(*std::move(whole));
  }
  return threads;
}

}  // namespace

MachineReader::MachineReader(Places places)
    : places_(std::move(places)), irqbalance_(places_.irqbalance) {}

MachineView MachineReader::look_at_interrupts() {
  MachineView view;
  auto seen = irqbalance_.look();
  view.irqbalance = std::move(seen.running);
  view.unread = std::move(seen.silent);
  view.default_affinity = read_file_at(places_.proc + "/irq/default_smp_affinity");
  const auto read = read_interrupts(places_.proc);
  const InterruptTable table = read ? *read : InterruptTable{};
  for (const auto& [number, affinity] :
       read_interrupt_affinities(table, places_.proc, places_.sys)) {
    const InterruptRow* row = table.find(std::to_string(number));
    view.interrupts[number] = {
        .list_file = fmt::format("{}/irq/{}/smp_affinity_list", places_.proc, number),
        .devices = row == nullptr ? std::vector<std::string>{} : row->devices,
        .affinity = affinity};
  }
  view.refused = refusals();
  return view;
}

Result<MachineView> MachineReader::look_at_kernel() {
  MachineView view{.facts = TRY(read_kernel_facts(places_.proc, places_.sys))};
  // From 6.8 on; earlier kernels leave the rest to us with partitions as well.
  const auto isolated = read_kernel_file(places_.cgroup + "/cpuset.cpus.isolated");
  if (isolated && !isolated->empty()) view.partitions = Partitions::kSome;
  for (const char* path : {"cpumask", "writeback/cpumask"}) {
    const auto file =
        read_file_at(fmt::format("{}/devices/virtual/workqueue/{}", places_.sys, path));
    if (file) view.workqueues.push_back(*file);
  }
  view.kernel_threads = read_kernel_threads(places_.proc);
  view.watchdog = read_file_at(places_.proc + "/sys/kernel/watchdog_cpumask");
  view.timer_migration = read_file_at(places_.proc + "/sys/kernel/timer_migration");
  for (const CpuId cpu : view.facts.online) {
    const auto file = read_file_at(fmt::format("{}/devices/system/cpu/cpu{}/power/{}", places_.sys,
                                               cpu.value, "pm_qos_resume_latency_us"));
    if (file) view.resume_latency.emplace(cpu, *file);
  }
  forget_ended(view);
  view.refused = refusals();
  return view;
}

void MachineReader::forget_ended(const MachineView& view) {
  std::set<std::string> alive;
  for (const Task& task : view.kernel_threads) alive.insert(task_name(task));
  std::erase_if(refused_, [&alive](const auto& refusal) {
    return refusal.first.kind == Target::Kind::kTask && !alive.contains(refusal.first.name);
  });
}

Refusals MachineReader::refusals() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(refused_, [now](const auto& kept) {
    return kept.second.until < now && kept.second.until.has_value();
  });
  Refusals all;
  for (const auto& [target, kept] : refused_) all.emplace(target, kept.refusal);
  return all;
}

void MachineReader::note_refusal(const Change& change, const Error& error) {
  // A thing that is gone needs no note; it is not in the next view.
  if (error.code == Code::kNotFound) return;
  const std::string name = error.number == 0 ? error.message : errno_name(error.number);
  Kept kept{.refusal = {.number = error.number, .name = name, .value = change.value}};
  if (is_of_the_moment(error.number)) kept.until = std::chrono::steady_clock::now() + kMoment;
  refused_.insert_or_assign(change.target, std::move(kept));
}

}  // namespace corehold
