// SPDX-License-Identifier: Apache-2.0
//
// Occupancy: for every CPU, how many containers may be running there. Answers "may anything else
// run on these CPUs" without looking at every container.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"

namespace corehold {

class Occupancy {
 public:
  // Whether the container was found where nobody had put it and has CPUs of its own to go back to.
  enum class Place { kOwn, kStray };

  // The container may run on these CPUs from now on; none: nowhere.
  void set(const ContainerRef& ref, const CpuSet& cpus, Place place);

  // Which containers count.
  enum class Strays { kCount, kLeaveOut };
  // Whether a container other than `ref` may run on one of these CPUs.
  bool is_elsewhere_taken(const ContainerRef& ref, const CpuSet& cpus, Strays strays) const;

  // Whether both say the same of every CPU.
  bool is_same_as(const Occupancy& other) const { return entries_ == other.entries_; }

  bool operator==(const Occupancy&) const = default;

 private:
  struct Entry {
    CpuSet cpus{};
    Place place = Place::kOwn;

    bool operator==(const Entry&) const = default;
  };

  void count(const Entry& entry, int by);

  std::map<ContainerRef, Entry> entries_{};
  std::vector<std::int32_t> containers_{};  // by CPU
  std::vector<std::int32_t> strays_{};      // of these
};

}  // namespace corehold
