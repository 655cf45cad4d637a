// SPDX-License-Identifier: Apache-2.0
//
// Confinement by cgroup v2: cgroups below a base, with the cpuset, cpu and memory controllers
// handed down level by level. A cgroup without CPUs of its own has those of its parent. The base is
// the agent's own cgroup when that was delegated to it (it then moves itself into <base>/agent,
// because a cgroup that hands controllers down holds no processes), else a top-level cgroup of
// ours.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/cgroup/confinement.h"

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

  explicit CgroupV2(Places places);

  Capabilities capabilities() const override;
  boost::json::object describe() const override;
  Result<void> confine(const ContainerProcesses& container,
                       const Placement& placement) const override;
  Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const override;
  Result<void> place(const ContainerProcesses& container, pid_t pid) const override;
  Result<KernelView> look(const ContainerProcesses& container) const override;
  std::string watched(const ContainerProcesses& container) const override;
  Result<std::set<pid_t>> processes(const ContainerProcesses& container) const override;
  Result<std::vector<LiveContainer>> unknown(const std::set<std::string>& known,
                                             EmptyCgroups empty) const override;
  Result<std::size_t> kill(const ContainerProcesses& container) const override;
  Result<bool> remove(const ContainerProcesses& container) const override;

 private:
  std::string path_of(const std::string& cgroup) const;
  Result<void> hand_down(const std::string& cgroup) const;
  Result<void> make_levels(const std::string& cgroup) const;
  Result<void> set_cpuset(const ContainerProcesses& container, const CpuSet& cpus) const;
  // The CPUs of the machine that are online.
  Result<CpuSet> online() const;
  // Fails unless the kernel lets the cgroup run on these CPUs, as far as they are online.
  Result<void> check_cpus(const std::string& cgroup, const CpuSet& cpus) const;
  // Before and after the CPUs are set: a container that is a partition, and that is to be one.
  Result<void> leave_partition(const ContainerProcesses& container,
                               const Placement& placement) const;
  Result<void> join_partition(const ContainerProcesses& container,
                              const Placement& placement) const;
  Result<void> set_own_cpus(const std::string& cgroup, const CpuSet& cpus) const;
  Result<void> inherit_cpus(const std::string& cgroup, const std::string& parent) const;
  Result<void> set_cpu(const std::string& cgroup, const Limits& limits) const;
  Result<void> set_memory(const ContainerProcesses& container, std::int64_t limit) const;
  Result<void> join(const std::string& cgroup, pid_t pid) const;
  std::vector<pid_t> process_tree(const ContainerProcesses& container) const;
  Result<std::vector<pid_t>> strays(const ContainerProcesses& container) const;
  Result<void> bring_back(const ContainerProcesses& container) const;

  Places places_;
  bool has_partitions_;  // partition.h
  // Held while cgroups around a container's are made with its own in them, or removed because they
  // are empty: threads do both for different containers, and only they know when they are done.
  mutable std::mutex levels_{};
};

}  // namespace corehold
