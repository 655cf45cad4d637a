// SPDX-License-Identifier: Apache-2.0
//
// Confinement by cgroup v1: <cpuset>/corehold/<pod>/<container>, and the same in the cpu
// hierarchy where there is one, and in the memory hierarchy for who has a limit there. A cpuset of
// v1 must lie within its parent's, so sets shrink from the bottom up and grow from the top down;
// cpusets that a container has made inside its own follow.
#pragma once

#include <set>

#include "runtime/confinement.h"

namespace corehold {

class CgroupV1 : public Confinement {
 public:
  struct Places {
    std::string cpuset{};  // where the hierarchies are mounted
    std::string cpu{};     // "": there is none
    std::string name{};    // of the top cgroup
    // "": there is none. Only to kill with: who is frozen cannot fork meanwhile. Where it does
    // not work, killing takes longer.
    std::string freezer{};
    std::string memory{};  // "": there is none
  };

  explicit CgroupV1(Places places) : places_(std::move(places)) {}

  RuntimeAbilities abilities() const override;
  boost::json::object describe() const override;
  Result<void> confine(const Body& body, const Confines& confines) const override;
  Result<void> place(const Body& body, pid_t pid) const override;
  Result<Sight> look(const Body& body) const override;
  Result<std::size_t> kill(const Body& body) const override;
  Result<bool> remove(const Body& body) const override;

 private:
  std::string cpuset_of(const ContainerRef& container) const;
  std::string cpu_of(const ContainerRef& container) const;
  std::string memory_of(const ContainerRef& container) const;
  // Whoever has no memory limit, and never had, is left where it is.
  bool has_memory(const ContainerRef& container) const;
  std::string freezer_of(const ContainerRef& container) const;
  void make_freezer(const ContainerRef& container) const;
  void freeze(const ContainerRef& container) const;
  void thaw(const ContainerRef& container) const;
  Result<std::set<pid_t>> members(const Body& body) const;
  Result<void> set_cpuset(const ContainerRef& container, const Confines& confines) const;
  Result<void> check_taken(const std::string& cgroup, const CpuSet& cpus) const;
  Result<void> set_cpu(const ContainerRef& container, const Confines& confines) const;
  Result<void> make_memory(const ContainerRef& container, std::int64_t limit) const;
  Result<void> set_memory(const ContainerRef& container, std::int64_t limit) const;
  std::vector<pid_t> family(const Body& body) const;
  Result<std::vector<pid_t>> strays(const Body& body) const;
  Result<void> bring_back(const Body& body) const;

  Places places_;
};

}  // namespace corehold
