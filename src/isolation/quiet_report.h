// SPDX-License-Identifier: Apache-2.0
//
// Who may run on CPUs besides the container that holds them, and who did between two snapshots of
// the machine, each with what would remove it. Behind `corehold quiet` and the agent's metrics.
//
// The kernel counts the run time of a task, not where it ran: all of it is taken to be on the CPU
// where the task ran last. Tasks that began and ended between the snapshots are not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isolation/kernel_facts.h"
#include "isolation/machine_snapshot.h"
#include "isolation/quiet_advice.h"

namespace corehold {

// What kind of thing runs on a CPU.
enum class ForeignKind {
  kTask,              // a thread of a process
  kKernelThread,      // one whose affinity can be changed
  kWorkqueue,         // a worker of the kernel's unbound work, which a mask of its own confines
  kInterruptThread,   // handles an interrupt and follows its affinity
  kBoundThread,       // a kernel thread that belongs to its CPU
  kInterrupt,         // of a device
  kManagedInterrupt,  // of a device, its CPUs chosen by the kernel
};

// "task", "kernelThread", "workqueue", ...
std::string_view name_of(ForeignKind kind);

// What keeps something away from a CPU that a container holds.
enum class Removal {
  kFence,       // isolation level fence
  kIrqs,        // isolation level irqs
  kFull,        // isolation level full
  kPartition,   // an isolated partition: no load balancing
  kManagedIrq,  // boot parameter isolcpus=managed_irq,LIST
  kNohzFull,    // boot parameter nohz_full=LIST
  kRcuNocbs,    // boot parameter rcu_nocbs=LIST
  kFullCores,   // policy option full-pcpus-only
  kNothing,
};

// "level fence", "boot nohz_full", "nothing".
std::string_view name_of(Removal removal);

// A container with CPUs of its own. Its tasks are those whose cgroup is, or lies below, one whose
// path ends in `cgroup`, and those of `processes`.
struct QuietHolder {
  std::string name{};  // "default/web main"
  CpuSet cpus{};
  std::string cgroup{};            // "/UID/CONTAINER"; "": known by its processes alone
  std::vector<pid_t> processes{};  // ascending

  bool owns(const Task& task) const;
};

struct ForeignTask {
  Task task{};
  ForeignKind kind = ForeignKind::kTask;
  std::string container{};   // the name of the holder that it is of; "": of none
  CpuSet cpus{};             // of those asked about: where it may run and is not at home
  std::uint64_t ran_ns = 0;  // between the snapshots
  Removal removal = Removal::kNothing;
};

struct ForeignInterrupt {
  int number = 0;
  std::vector<std::string> devices{};
  ForeignKind kind = ForeignKind::kInterrupt;
  CpuSet cpus{};       // of those asked about: where it may come to
  CpuSet effective{};  // where it comes to now
  Removal removal = Removal::kNothing;
};

// How often something came to one CPU.
struct CpuCount {
  std::string label{};                // "24", "LOC", "TIMER"
  std::string what{};                 // its devices, or what the kernel says it is
  std::optional<ForeignKind> kind{};  // of interrupts of devices
  std::uint64_t count = 0;            // between the snapshots
  std::uint64_t total = 0;            // since the machine was booted
  Removal removal = Removal::kNothing;
};

// Counts of things that may run on one CPU.
struct MayRun {
  std::size_t tasks = 0;
  std::size_t kernel_threads = 0;  // that can be moved, workers and threads of interrupts included
  std::size_t bound_threads = 0;
  std::size_t interrupts = 0;
  std::size_t managed_interrupts = 0;
  bool tick = false;           // the timer tick of the scheduler
  bool rcu_callbacks = false;  // work that RCU has put off
};

struct CpuQuiet {
  CpuId cpu{0};
  std::string holder{};     // "": nobody
  CpuSet siblings{};        // other CPUs of its core
  CpuSet loose_siblings{};  // of these, those that its holder does not hold
  MayRun may_run{};
  std::vector<std::size_t> ran{};      // of QuietReport::tasks, those that ran here, longest first
  std::uint64_t ran_ns = 0;            // all of them
  std::vector<CpuCount> interrupts{};  // that came, by number and then by name
  std::vector<CpuCount> softirqs{};    // the same, by name
  CpuTime spent{};                     // between the snapshots
};

struct QuietReport {
  std::chrono::nanoseconds watched{};
  KernelFacts kernel{};
  std::vector<ForeignTask> tasks{};            // that may run on a CPU asked about, or did
  std::vector<ForeignInterrupt> interrupts{};  // that may come to one
  std::vector<CpuQuiet> cpus{};                // ascending
  std::vector<QuietAdvice> advice{};           // on settings of the machine
};

struct QuietQuestion {
  CpuSet cpus{};
  std::vector<QuietHolder> holders{};
  KernelFacts kernel{};
  KernelSettings settings{};  // empty: no advice is wanted
  pid_t self = 0;             // the process that asks, which is left out
};

// CPUs of the question that are not online are left out. Cost follows tasks and interrupts, and
// the CPUs that each of them may run on.
QuietReport quiet_report(const QuietQuestion& question, const MachineSnapshot& before,
                         const MachineSnapshot& after);

ForeignKind kind_of(const Task& task);

}  // namespace corehold
