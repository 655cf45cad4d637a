// SPDX-License-Identifier: Apache-2.0
#include "kernel/machine_snapshot.h"

#include <utility>

#include "kernel/cpu_times.h"
#include "kernel/interrupts.h"
#include "kernel/task.h"

namespace corehold {
namespace {

Result<MachineSnapshot> with_tasks(std::vector<Task> tasks, const std::string& proc,
                                   const std::string& sys) {
  MachineSnapshot snapshot{.tasks = std::move(tasks)};
  snapshot.at = std::chrono::steady_clock::now().time_since_epoch();
  snapshot.interrupts = TRY(read_interrupts(proc));
  snapshot.times = TRY(read_cpu_times(proc));
  if (auto softirqs = read_softirqs(proc)) snapshot.softirqs = *std::move(softirqs);
  snapshot.affinities = read_interrupt_affinities(snapshot.interrupts, proc, sys);
  return snapshot;
}

}  // namespace

Result<MachineSnapshot> read_machine(const std::string& proc, const std::string& sys) {
  return with_tasks(TRY(read_tasks(proc)), proc, sys);
}

Result<MachineSnapshot> read_machine_on(const CpuSet& cpus, const std::string& proc,
                                        const std::string& sys) {
  return with_tasks(TRY(read_tasks_last_on(cpus, proc)), proc, sys);
}

}  // namespace corehold
