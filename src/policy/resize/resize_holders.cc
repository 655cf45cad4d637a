// SPDX-License-Identifier: Apache-2.0
#include "policy/resize/resize_holders.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace corehold {
namespace {

using PodEntry = CpuHoldings::value_type;

CpuSet held_by(const PodEntry& pod) {
  CpuSet held;
  for (const auto& [name, holding] : pod.second) held |= holding.assigned;
  return held;
}

// What is shared when the first few of some pods have left.
class Leaving {
 public:
  Leaving(const CpuSet& shared, std::vector<const PodEntry*> pods)
      : pods_(std::move(pods)), steps_{shared} {}

  std::size_t all() const { return pods_.size(); }
  const PodEntry& operator[](std::size_t i) const { return *pods_[i]; }
  const CpuSet& without_first(std::size_t count) {
    while (steps_.size() <= count) {
      steps_.push_back(steps_.back() | held_by(*pods_[steps_.size() - 1]));
    }
    return steps_[count];
  }

 private:
  std::vector<const PodEntry*> pods_;
  std::vector<CpuSet> steps_;  // by how many have left
};

class Fitting {
 public:
  explicit Fitting(const ResizePlacement& placement)
      : placement_(placement), limits_(placement.limits()) {}

  bool can_be(const CpuSet& shared) const {
    return placement_.outlook(limits_, shared) != Outlook::kNever;
  }
  bool fits(const CpuSet& shared) const {
    const Outlook outlook = placement_.outlook(limits_, shared);
    if (outlook == Outlook::kOpen) return !placement_.run(shared).failure;
    return outlook == Outlook::kSure;
  }

  // Without how many of the first it fits, while without one less it does not; 0: not even
  // without all. Where more free CPUs made it fit no more these would not be the fewest, but it
  // would still fit.
  // REQUIRES: there is one, and it does not fit without none.
  std::size_t fewest(Leaving& pods) const {
    std::size_t too_few = 0;
    std::size_t enough = 1;
    // Mostly the first are enough for which it can be.
    if (!fits(pods.without_first(1))) {
      if (!fits(pods.without_first(pods.all()))) return 0;
      do {
        too_few = enough++;
      } while (enough < pods.all() && !can_be(pods.without_first(enough)));
      for (std::size_t leap = 1; enough < pods.all() && !fits(pods.without_first(enough));
           leap *= 2) {
        too_few = enough;
        enough = std::min(pods.all(), enough + leap);
      }
    }
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (fits(pods.without_first(middle)) ? enough : too_few) = middle;
    }
    return enough;
  }

 private:
  const ResizePlacement& placement_;
  const std::vector<GrowthLimit> limits_;
};

}  // namespace

CpuSet OtherPods::shared_without_all() const {
  CpuSet shared = shared_;
  for (const PodEntry& pod : state_.pods) {
    if (pod.first != uid_) shared |= held_by(pod);
  }
  return shared;
}

std::vector<std::string> OtherPods::in_the_way(const ResizePlacement& placement,
                                               const CpuSet& near) const {
  const Fitting fitting(placement);
  using Rank = std::tuple<bool, int, const PodEntry*>;
  std::vector<Rank> ranks;
  ranks.reserve(state_.pods.size());
  for (const PodEntry& pod : state_.pods) {
    if (pod.first == uid_) continue;
    const CpuSet held = held_by(pod);
    ranks.emplace_back(!held.intersects(near), -held.size(), &pod);
  }
  // Those alike stay in the order of their UIDs.
  std::stable_sort(ranks.begin(), ranks.end(), [](const Rank& one, const Rank& two) {
    return std::tie(std::get<0>(one), std::get<1>(one)) <
           std::tie(std::get<0>(two), std::get<1>(two));
  });
  std::vector<const PodEntry*> order;
  order.reserve(ranks.size());
  for (const Rank& rank : ranks) order.push_back(std::get<2>(rank));

  Leaving pods(shared_, std::move(order));
  const std::size_t count = pods.all() == 0 ? 0 : fitting.fewest(pods);
  if (count == 0) return {};
  // The last of them has to leave, by that. Those before it stay if it fits with them, the
  // small ones first.
  std::vector<std::string> uids{pods[count - 1].first};
  CpuSet left = held_by(pods[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) {
    if (fitting.fits(pods.without_first(i) | left)) continue;
    uids.push_back(pods[i].first);
    left |= held_by(pods[i]);
  }
  std::reverse(uids.begin(), uids.end());
  return uids;
}

}  // namespace corehold
