// SPDX-License-Identifier: Apache-2.0
//
// Confinement without cgroups: the affinity of every thread of every process that descends
// from the container's supervisor. A process can undo it; the reconcile sees that and does it
// again. What was asked for is kept in the container's directory, in the file `affinity`.
#pragma once

#include "runtime/cgroup/confinement.h"
#include "sys/process/mark_reader.h"

namespace corehold {

// Where the threads of a process may run; empty when it has gone.
CpuSet cpus_of_process(pid_t pid);

class Affinity : public Confinement {
 public:
  explicit Affinity(std::string reason) : reason_(std::move(reason)) {}

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
  std::string reason_;
  MarkReader marks_{};
};

}  // namespace corehold
