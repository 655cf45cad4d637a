// SPDX-License-Identifier: Apache-2.0
//
// Gives the containers below a top cgroup of the cpu hierarchy of cgroup v1 their real-time time,
// as realtime_plan.h divides it. Which share a container has is in the kernel: the period of those
// that share is a tenth of a second, so that a process of theirs that has used its time waits for a
// shorter while. A kernel without RT_GROUP_SCHED has no such files, and needs none of this.
#pragma once

#include <optional>
#include <string>

#include "runtime/cgroup/realtime_plan.h"

namespace corehold {

// Not for several threads at once.
class RealtimeShares {
 public:
  // `hierarchy` is where the cpu hierarchy is mounted, `name` the top cgroup in it.
  RealtimeShares(std::string hierarchy, std::string name);

  // Gives the container "pod/container" a share; one that has a share keeps its kind of share. What
  // the kernel refuses stays as it is: somebody else may have taken the machine's real-time time.
  // REQUIRES: the cgroup exists.
  void give(const std::string& cgroup, RealtimeShare share);

  // Before the cgroup of a container is removed, with the ones around it that are empty then: a
  // cgroup that is gone counts for the kernel a little longer, with what it had.
  void take_back(const std::string& cgroup);

  // When they are gone: the others get what they had.
  void divide_again();

 private:
  std::string top() const { return hierarchy_ + "/" + name_; }
  // What the kernel has, remembered after the first time: only this process writes it.
  RealtimeTree& tree();
  // Makes the plan's writes. False: the kernel has refused one, and is to be looked at again.
  bool divide();

  std::string hierarchy_;
  std::string name_;
  std::optional<RealtimeTree> tree_{};
};

}  // namespace corehold
