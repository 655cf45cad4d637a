// SPDX-License-Identifier: Apache-2.0
//
// Confinement by cgroup v1: cgroups below a top one in the cpuset hierarchy, and the same in the
// cpu hierarchy where there is one, and in the memory hierarchy for containers with a limit. A
// cpuset of v1 must lie within its parent's and does not follow it, so sets shrink from the bottom
// up and grow from the top down; cpusets that a container has made inside its own are set as well.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/cgroup/confinement.h"
#include "runtime/cgroup/realtime_shares.h"

namespace corehold {

class CgroupV1 : public Confinement {
 public:
  struct Places {
    std::string cpuset{};  // where the hierarchies are mounted
    std::string cpu{};     // "": there is none
    std::string name{};    // of the top cgroup
    // "": there is none. Only to kill with: frozen processes cannot fork. Where it does
    // not work, killing takes longer.
    std::string freezer{};
    std::string memory{};  // "": there is none
  };

  explicit CgroupV1(Places places)
      : places_(std::move(places)), realtime_(places_.cpu, places_.name) {}

  Capabilities capabilities() const override;
  boost::json::object describe() const override;
  Result<void> confine(const ContainerProcesses& container,
                       const Placement& placement) const override;
  Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const override;
  Result<void> place(const ContainerProcesses& container, pid_t pid) const override;
  Result<KernelView> look(const ContainerProcesses& container) const override;
  Result<std::set<pid_t>> processes(const ContainerProcesses& container) const override;
  Result<std::vector<LiveContainer>> unknown(const std::set<std::string>& known,
                                             EmptyCgroups empty) const override;
  Result<std::size_t> kill(const ContainerProcesses& container) const override;
  Result<bool> remove(const ContainerProcesses& container) const override;

 private:
  std::string path_in(const std::string& hierarchy, const std::string& cgroup) const;
  std::string cpuset_of(const ContainerProcesses& container) const {
    return path_in(places_.cpuset, container.cgroup);
  }
  std::string cpu_of(const ContainerProcesses& container) const {
    return path_in(places_.cpu, container.cgroup);
  }
  std::string memory_of(const ContainerProcesses& container) const {
    return path_in(places_.memory, container.cgroup);
  }
  std::string freezer_of(const ContainerProcesses& container) const {
    return path_in(places_.freezer, container.cgroup);
  }
  Result<void> make_levels(const std::string& hierarchy, const std::string& cgroup) const;
  // A container that never had a memory limit has no cgroup there.
  bool has_memory(const ContainerProcesses& container) const;
  void make_freezer(const ContainerProcesses& container) const;
  void freeze(const ContainerProcesses& container) const;
  void thaw(const ContainerProcesses& container) const;
  Result<void> make_cpuset(const ContainerProcesses& container) const;
  Result<void> set_mems(const ContainerProcesses& container,
                        const std::optional<NodeSet>& mems) const;
  Result<void> set_cpuset(const ContainerProcesses& container, const CpuSet& cpus) const;
  Result<void> check_taken(const std::string& cgroup, const CpuSet& cpus) const;
  Result<void> set_cpu(const ContainerProcesses& container, const Limits& limits) const;
  void give_realtime(const ContainerProcesses& container, const Placement& placement) const;
  void take_realtime(const ContainerProcesses& container) const;
  Result<void> make_memory(const ContainerProcesses& container, std::int64_t limit) const;
  Result<void> set_memory(const ContainerProcesses& container, std::int64_t limit) const;
  std::vector<pid_t> process_tree(const ContainerProcesses& container) const;
  Result<std::vector<pid_t>> strays(const ContainerProcesses& container) const;
  Result<void> bring_back(const ContainerProcesses& container) const;

  Places places_;
  // Held while cgroups around a container's are made with its own in them, or removed because they
  // are empty: threads do both for different containers, and only they know when they are done.
  mutable std::mutex levels_{};
  mutable RealtimeShares realtime_;  // guarded by levels_
};

}  // namespace corehold
