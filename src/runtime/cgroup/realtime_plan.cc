// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/realtime_plan.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace corehold {
namespace {

// Of the top cgroup's time: one part in so many is for all containers that share CPUs.
constexpr std::int64_t kSharedPart = 18;
// Fewer containers that share than this change nothing for each other.
constexpr std::uint64_t kLeastSharers = 16;
// Their period is a tenth of a second, and the kernel counts microseconds.
constexpr std::int64_t kLeastTime = 10;

struct Shares {
  std::int64_t own = 0;
  std::int64_t shared = 0;

  std::int64_t of(RealtimeShare share) const {
    return share == RealtimeShare::kOwnCpus ? own : shared;
  }
};

std::int64_t divided(std::int64_t time, std::uint64_t containers) {
  const auto parts =
      static_cast<std::int64_t>(std::bit_ceil(std::max<std::uint64_t>(containers, 1)));
  return std::max(time / parts / kLeastTime * kLeastTime, kLeastTime);
}

Shares shares_of(const RealtimeTree& tree) {
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  std::int64_t shared_now = 0;
  for (const auto& [pod, here] : tree.pods) {
    for (const auto& [name, container] : here.containers) {
      ++(container.share == RealtimeShare::kOwnCpus ? own : shared);
      if (container.share == RealtimeShare::kOwnCpus) continue;
      shared_now = std::max(shared_now, container.time);
    }
  }
  const std::int64_t for_shared = tree.time / kSharedPart;
  Shares shares{.own = divided(tree.time - for_shared, own),
                .shared = divided(for_shared, std::max(shared, kLeastSharers))};
  // There may be thousands that share: one that comes and goes must not change all of them.
  if (shared_now < shares.shared && shares.shared <= 2 * shared_now) shares.shared = shared_now;
  return shares;
}

}  // namespace

std::vector<RealtimeWrite> plan_realtime(const RealtimeTree& tree) {
  const Shares shares = shares_of(tree);
  std::vector<RealtimeWrite> less;  // containers, then pods: a pod covers its containers all along
  std::vector<RealtimeWrite> pods_less;
  std::vector<RealtimeWrite> pods_more;
  std::vector<RealtimeWrite> more;
  for (const auto& [pod, here] : tree.pods) {
    std::int64_t together = 0;
    for (const auto& [name, container] : here.containers) {
      const std::int64_t time = shares.of(container.share);
      together += time;
      if (time == container.time) continue;
      (time < container.time ? less : more)
          .push_back({.cgroup = fmt::format("{}/{}", pod, name), .time = time});
    }
    if (together == here.time) continue;
    (together < here.time ? pods_less : pods_more).push_back({.cgroup = pod, .time = together});
  }
  for (auto* next : {&pods_less, &pods_more, &more}) {
    less.insert(less.end(), next->begin(), next->end());
  }
  return less;
}

}  // namespace corehold
