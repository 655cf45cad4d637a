// SPDX-License-Identifier: Apache-2.0
//
// Interrupts of the machine: how often each came to each CPU, which devices it is of, and which
// CPUs it may come to. Rows that the kernel counts by name (LOC, RES, CAL, ...) and the kinds of
// soft interrupts are counted in the same way and have neither a number nor an affinity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"

namespace corehold {

// Whether the kernel alone chooses the CPUs of an interrupt, so that nobody can move it. Where the
// kernel does not show that, the name of the device tells: the queues of NVMe and virtio disks.
enum class Managed { kNo, kByName, kYes };

struct InterruptRow {
  std::string label{};                  // "24" or "LOC"
  std::optional<int> number{};          // of an interrupt of a device
  std::vector<std::uint64_t> counts{};  // by column of the table; rows such as ERR have one count
  std::string chip{};                   // "PCI-MSIX-0000:00:05.0"; none in rows with a name
  std::string type{};                   // "1-edge": its number on the chip and its trigger
  std::vector<std::string> devices{};   // none: nobody has asked for it
  std::string description{};            // of a row with a name: "Local timer interrupts"

  bool operator==(const InterruptRow&) const = default;
};

struct InterruptTable {
  std::vector<CpuId> columns{};  // CPUs that are online, ascending
  std::vector<InterruptRow> rows{};

  // How often it came to a CPU; 0 for a CPU without a column.
  std::uint64_t count(const InterruptRow& row, CpuId cpu) const;
  // No value: there is none with this label.
  const InterruptRow* find(const std::string& label) const;

  bool operator==(const InterruptTable&) const = default;
};

// Where an interrupt may come to, and where the kernel sends it now.
struct InterruptAffinity {
  CpuSet allowed{};
  CpuSet effective{};  // empty where the kernel does not say

  Managed managed = Managed::kNo;

  bool operator==(const InterruptAffinity&) const = default;
};

using InterruptAffinities = std::map<int, InterruptAffinity>;

// By the names of its devices: "nvme0q1" is a queue with CPUs of its own, "nvme0q0" is not.
Managed managed_by_name(const std::vector<std::string>& devices);

}  // namespace corehold
