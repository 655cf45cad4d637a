// SPDX-License-Identifier: Apache-2.0
//
// Real-time time of containers on cgroup v1 with RT_GROUP_SCHED. There a cgroup of the cpu
// hierarchy may run SCHED_FIFO and SCHED_RR for cpu.rt_runtime_us of each cpu.rt_period_us on every
// CPU; a new one has 0, and the kernel then refuses these policies. The children of a cgroup must
// not have more together than the cgroup itself, whatever CPUs they are on, so what the machine has
// is divided: containers with CPUs of their own have the larger part, those that share a small one,
// in equal shares each. The number of shares is a power of two, so that few starts and ends change
// what the other containers have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace corehold {

enum class RealtimeShare {
  kOwnCpus,
  kSharedCpus,
};

// All times are microseconds of a second.
struct RealtimeContainer {
  RealtimeShare share = RealtimeShare::kSharedCpus;
  std::int64_t time = 0;

  bool operator==(const RealtimeContainer&) const = default;
};

struct RealtimePod {
  std::int64_t time = 0;
  std::map<std::string, RealtimeContainer> containers{};

  bool operator==(const RealtimePod&) const = default;
};

// The cpu hierarchy below the top cgroup: what the kernel has now.
struct RealtimeTree {
  std::int64_t time = 0;  // of the top cgroup
  std::map<std::string, RealtimePod> pods{};

  bool operator==(const RealtimeTree&) const = default;
};

struct RealtimeWrite {
  std::string cgroup{};  // "pod" or "pod/container"
  std::int64_t time = 0;

  bool operator==(const RealtimeWrite&) const = default;
};

// The writes after which every container has its share, in an order in which the kernel takes each
// of them. Empty when that is so already.
std::vector<RealtimeWrite> plan_realtime(const RealtimeTree& tree);

}  // namespace corehold
