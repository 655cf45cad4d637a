// SPDX-License-Identifier: Apache-2.0
//
// What the kernel shows of interrupts and of all else that the levels `irqs` and `full` keep off
// held CPUs. Everything is optional: a file that the kernel does not have is not here, and nothing
// is planned for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"
#include "isolation/change.h"
#include "isolation/interrupt.h"
#include "isolation/kernel_facts.h"
#include "isolation/task.h"

namespace corehold {

// A file of the kernel and what it says, without the newline at its end.
struct KernelFile {
  std::string path{};
  std::string text{};

  bool operator==(const KernelFile&) const = default;
};

struct InterruptView {
  std::string list_file{};             // /proc/irq/24/smp_affinity_list
  std::vector<std::string> devices{};  // none: nobody has asked for it
  InterruptAffinity affinity{};

  bool operator==(const InterruptView&) const = default;
};

// A running irqbalance.
struct IrqBalanceView {
  std::string socket{};
  CpuSet banned{};  // that it keeps off, or has been told to

  bool operator==(const IrqBalanceView&) const = default;
};

// What the machine has answered to a change. The kernel's no to a managed interrupt (EIO, EPERM)
// is for good; any other is for this value.
struct RefusedChange {
  int number = 0;       // errno
  std::string name{};   // of that number: "EPERM"
  std::string value{};  // that was refused

  bool operator==(const RefusedChange&) const = default;
};

using Refusals = std::map<Target, RefusedChange>;

enum class Partitions {
  kNone,
  kSome,  // an isolated cgroup partition is in use: the kernel itself clears its CPUs
};

struct MachineView {
  KernelFacts facts{};
  Partitions partitions = Partitions::kNone;
  std::map<int, InterruptView> interrupts{};
  std::optional<KernelFile> default_affinity{};  // a mask
  std::vector<IrqBalanceView> irqbalance{};
  std::vector<KernelFile> workqueues{};  // masks
  std::vector<Task> kernel_threads{};
  std::optional<KernelFile> watchdog{};         // a list
  std::optional<KernelFile> timer_migration{};  // "0" or "1"
  std::map<CpuId, KernelFile> resume_latency{};
  Refusals refused{};
  std::vector<Leftover> unread{};  // what is there and could not be looked at

  bool operator==(const MachineView&) const = default;
};

}  // namespace corehold
