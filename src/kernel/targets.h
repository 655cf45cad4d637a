// SPDX-License-Identifier: Apache-2.0
//
// Targets: the values of the machine that isolation changes, read and written, one way for each
// kind. Each write is read back: success means that the kernel has taken it and that whoever was
// to leave has left. A target that is gone is kNotFound. May block; for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "isolation/change.h"
#include "kernel/fence_reader.h"
#include "kernel/units.h"

namespace corehold {

struct TargetHandler {
  std::function<Result<std::string>(const Target&)> read{};
  std::function<Result<void>(const Change&)> write{};
};

class Targets {
 public:
  // `units` must outlive it.
  Targets(FencePlaces places, Units& units);

  // Another kind, or another way for one.
  void add(Target::Kind kind, TargetHandler handler) { handlers_[kind] = std::move(handler); }

  // The machine's CPUs that are online: what a cgroup is lifted to.
  void set_online(const CpuSet& online) { online_ = online; }

  Result<std::string> read(const Target& target) const;
  Result<void> write(const Change& change) const;

 private:
  Result<std::string> read_unit(const std::string& unit) const;
  Result<void> write_unit(const Change& change) const;
  Result<void> write_file(const Change& change) const;
  Result<void> lift_cpuset(const std::string& path) const;
  // Until the cgroup has these CPUs and nobody in it is elsewhere. kNotFound: it is gone.
  Result<void> await_cpus(const std::string& cgroup, const CpuSet& cpus) const;
  Result<void> write_task(const Change& change) const;
  Result<void> write_cpuset(const Change& change) const;
  Result<void> remove_cpuset(const std::string& path) const;
  Result<void> write_member(const Change& change) const;
  // The directory of a unit's cgroup; "": it has none.
  std::string cgroup_of_unit(const std::string& unit) const;

  FencePlaces places_;
  Units& units_;
  CpuSet online_{};
  std::map<Target::Kind, TargetHandler> handlers_{};
};

// Lets the task run on these CPUs, as far as its cgroup does. kNotFound: it has ended.
Result<void> set_affinity(pid_t tid, const CpuSet& cpus);

// The same for the task that was started then: another may have its number by now.
Result<void> set_affinity(pid_t tid, std::uint64_t start, const CpuSet& cpus,
                          const std::string& proc);

}  // namespace corehold
