// SPDX-License-Identifier: Apache-2.0
//
// Occupancy: for every CPU, how many containers may be running there. Answers "may anything else
// run on these CPUs" and "on which CPUs may a container with CPUs of its own run" without looking
// at every container.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"

namespace corehold {

class Occupancy {
 public:
  // Whether the container holds CPUs of its own, wherever it runs.
  enum class Owner { kHolder, kOther };

  // The container may run on these CPUs from now on; none: nowhere.
  void set(const ContainerRef& ref, const CpuSet& cpus, Owner owner);

  // Whether a container other than `ref` may run on one of these CPUs.
  bool is_elsewhere_taken(const ContainerRef& ref, const CpuSet& cpus) const;
  // The CPUs on which a holder may run.
  const CpuSet& of_holders() const { return of_holders_; }

  // Whether both say the same of every CPU.
  bool is_same_as(const Occupancy& other) const { return entries_ == other.entries_; }

  bool operator==(const Occupancy&) const = default;

 private:
  struct Entry {
    CpuSet cpus{};
    Owner owner = Owner::kOther;

    bool operator==(const Entry&) const = default;
  };

  void count(const Entry& entry, int by);

  std::map<ContainerRef, Entry> entries_{};
  std::vector<std::int32_t> containers_{};  // by CPU
  std::vector<std::int32_t> holders_{};     // of these
  CpuSet of_holders_{};                     // the CPUs that have any
};

}  // namespace corehold
