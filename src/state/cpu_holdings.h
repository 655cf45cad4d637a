// SPDX-License-Identifier: Apache-2.0
//
// CpuHoldings: which CPUs each container holds, by pod UID and container name. It reads as
// a map. It is changed through set() and erase() alone and counts the holders of each CPU
// on the way, so that what is held, and what several containers hold, is known without
// a look at every container.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cpuset/cpu_set.h"

namespace corehold {

// What one exclusive container holds.
struct Holding {
  CpuSet assigned{};
  CpuSet promised{};
  std::optional<CpuSet> pending{};

  bool operator==(const Holding&) const = default;
};

// What the containers of one pod hold, by container name.
using PodHoldings = std::map<std::string, Holding, std::less<>>;

class CpuHoldings {
 public:
  using Map = std::map<std::string, PodHoldings, std::less<>>;
  using value_type = Map::value_type;
  // What the standard library calls them: NOLINTNEXTLINE(readability-identifier-naming)
  using iterator = Map::const_iterator;
  // As above: NOLINTNEXTLINE(readability-identifier-naming)
  using const_iterator = Map::const_iterator;

  CpuHoldings() = default;
  CpuHoldings(std::initializer_list<value_type> pods);

  const_iterator begin() const { return pods_.begin(); }
  const_iterator end() const { return pods_.end(); }
  bool empty() const { return pods_.empty(); }
  std::size_t size() const { return pods_.size(); }  // pods
  bool contains(std::string_view pod) const { return pods_.contains(pod); }
  const_iterator find(std::string_view pod) const { return pods_.find(pod); }
  // Null when the container holds nothing.
  const Holding* find(std::string_view pod, std::string_view container) const;
  // REQUIRES: contains(pod).
  const PodHoldings& at(std::string_view pod) const;

  // How many containers hold CPUs.
  std::size_t containers() const { return containers_; }
  // Union of all assigned sets.
  const CpuSet& held() const { return held_; }
  // CPUs assigned to two containers or more: an init container and a later one of its pod, or
  // any two in a damaged checkpoint.
  const CpuSet& held_by_several() const { return several_; }

  void set(std::string_view pod, std::string_view container, const Holding& holding);
  // Replaces all that the pod holds. A pod with an empty map stays listed, as in a checkpoint.
  void set(std::string_view pod, PodHoldings holdings);
  // The last container takes its pod with it. An unknown container is no error.
  void erase(std::string_view pod, std::string_view container);
  // An unknown pod is no error.
  void erase(std::string_view pod);
  void clear() { *this = CpuHoldings(); }

  bool operator==(const CpuHoldings& other) const { return pods_ == other.pods_; }

 private:
  void count(const PodHoldings& holdings);
  void discount(const PodHoldings& holdings);
  void count(const CpuSet& assigned);
  void discount(const CpuSet& assigned);

  Map pods_{};
  std::size_t containers_ = 0;
  CpuSet held_{};
  CpuSet several_{};
  std::map<CpuId, int> further_{};  // holders of the CPUs in several_ beyond the first
};

}  // namespace corehold
