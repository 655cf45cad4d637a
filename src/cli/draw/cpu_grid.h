// SPDX-License-Identifier: Apache-2.0
//
// A machine as letters, one for each CPU: who holds it. For terminals, where the picture of
// topology_svg.h cannot be.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "api/own/cpu_map.h"

namespace corehold {

class CpuGrid {
 public:
  // `map` must outlive it.
  explicit CpuGrid(const CpuMap& map);

  // The letter of a container: A to Z, then digits, then small letters; '#' for those that
  // are more. REQUIRES: it is one of the map's, else '#'.
  char key_of(const CpuHolder& holder) const;

  // A line for each part of the machine with the same NUMA node, socket and L3 cache, its
  // CPUs core by core; below it, where there are any, signs for CPUs beyond those promised and
  // for those that are to be given up; and below all what the signs other than keys mean.
  std::string render() const;

 private:
  char sign_of(CpuId cpu) const;
  char mark_of(CpuId cpu) const;

  const CpuMap& map_;
  std::map<std::pair<std::string, std::string>, char> keys_{};  // by UID and container
  std::map<CpuId, char> held_{};
  CpuSet grown_{};
  CpuSet leaving_{};
};

}  // namespace corehold
