// SPDX-License-Identifier: Apache-2.0
//
// Reads what machine_plan.h decides about: interrupts, irqbalance, workqueues, kernel threads and
// the kernel's settings, as far as the level asks for it. What the kernel does not have is left
// out.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "isolation/machine_view.h"
#include "isolation/wish.h"
#include "kernel/irqbalance.h"

namespace corehold {

// Not for several threads at once.
class MachineReader {
 public:
  // Where the file systems are mounted, and where irqbalance has its socket.
  struct Places {
    std::string proc = "/proc";
    std::string sys = "/sys";
    std::string cgroup = "/sys/fs/cgroup";  // cgroup v2
    IrqBalance::Options irqbalance{};
  };

  MachineReader() : MachineReader(Places{}) {}
  explicit MachineReader(Places places);

  // Interrupts and irqbalance: what level irqs is about. Cost follows the number of interrupts.
  MachineView look_at_interrupts();
  // What level full is about. Cost follows the number of processes. Fails when the kernel's version
  // cannot be read.
  Result<MachineView> look_at_kernel();

  // The machine's answer to a change that was tried: it is in every view from now on, so that it is
  // not tried again; for a second only where the answer is one of the moment.
  void note_refusal(const Change& change, const Error& error);

  IrqBalance& irqbalance() { return irqbalance_; }

 private:
  void forget_ended(const MachineView& view);
  // The answers that still hold.
  Refusals refusals();

  Places places_;
  IrqBalance irqbalance_;
  struct Kept {
    RefusedChange refusal{};
    std::optional<std::chrono::steady_clock::time_point> until{};
  };
  std::map<Target, Kept> refused_{};
};

}  // namespace corehold
