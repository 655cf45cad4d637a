// SPDX-License-Identifier: Apache-2.0
//
// Confinement by cgroup v2: <base>/pods/<pod>/<container>, with the cpuset, cpu
// and memory controllers handed down level by level. The base is the agent's own cgroup when that
// was delegated to it (it then moves itself into <base>/agent, because a cgroup that hands
// controllers down holds no processes), else a top-level cgroup of ours.
#pragma once

#include "runtime/confinement.h"

namespace corehold {

class CgroupV2 : public Confinement {
 public:
  struct Places {
    std::string mount{};     // of the cgroup2 file system
    std::string base{};      // below it, or itself
    bool delegated = false;  // the base is not ours to make or weigh
    bool given = false;      // this process is not in it
    bool has_cpu = true;     // the cpu controller can be had
    bool has_memory = true;  // the memory controller can be had
  };

  explicit CgroupV2(Places places) : places_(std::move(places)) {}

  RuntimeAbilities abilities() const override;
  boost::json::object describe() const override;
  Result<void> confine(const Body& body, const Confines& confines) const override;
  Result<void> place(const Body& body, pid_t pid) const override;
  Result<Sight> look(const Body& body) const override;
  Result<std::size_t> kill(const Body& body) const override;
  Result<bool> remove(const Body& body) const override;

 private:
  std::string cgroup_of(const ContainerRef& container) const;
  Result<void> hand_down(const std::string& cgroup) const;
  Result<void> make_levels(const ContainerRef& container) const;
  Result<void> set_cpuset(const std::string& cgroup, const Confines& confines) const;
  Result<void> set_cpu(const ContainerRef& container, const Confines& confines) const;
  Result<void> set_memory(const Body& body, std::int64_t limit) const;
  Result<void> join(const std::string& cgroup, pid_t pid) const;
  std::vector<pid_t> family(const Body& body) const;
  Result<std::vector<pid_t>> strays(const Body& body) const;
  Result<void> bring_back(const Body& body) const;

  Places places_;
};

}  // namespace corehold
