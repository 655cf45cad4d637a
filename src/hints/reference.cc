// SPDX-License-Identifier: Apache-2.0
#include "hints/reference.h"

#include <algorithm>

namespace corehold {
namespace {

using Lists = std::vector<std::vector<Hint>>;

std::int64_t in_reach(const Need& need, const NodeSet& nodes) {
  std::int64_t sum = 0;
  for (const Pile& pile : need.piles) {
    if (!(pile.nodes & nodes).empty()) sum += pile.amount;
  }
  return sum;
}

bool admits(const Threshold& threshold, const NodeSet& nodes) {
  if (!(threshold.required - nodes).empty() || !(nodes - threshold.within).empty()) return false;
  for (const Need& need : threshold.needs) {
    if (in_reach(need, nodes) < need.amount) return false;
  }
  return true;
}

bool prefers(const Preference& preference, const NodeSet& nodes) {
  int sockets = 0;
  for (const NodeSet& socket : preference.socket_nodes) {
    if (!(socket & nodes).empty()) ++sockets;
  }
  return nodes.size() == preference.size ||
         (preference.sockets != 0 && sockets == preference.sockets);
}

Lists without_gaps(const HintLists& lists, TopologyPolicy policy) {
  Lists all;
  for (const auto& list : lists) {
    std::vector<Hint> hints;
    if (!list) {
      hints.push_back({.nodes = std::nullopt, .preferred = true});
    } else if (list->empty()) {
      hints.push_back({.nodes = std::nullopt, .preferred = false});
    } else {
      hints = *list;
    }
    if (policy == TopologyPolicy::kSingleNumaNode) {
      std::erase_if(hints, [](const Hint& hint) {
        return !hint.preferred || (hint.nodes && hint.nodes->size() != 1);
      });
    }
    all.push_back(std::move(hints));
  }
  return all;
}

class Comparison {
 public:
  Comparison(const NumaMap& machine, const Lists& lists, bool closest)
      : machine_(machine), closest_(closest) {
    for (const auto& list : lists) {
      std::optional<int> fewest;
      for (const Hint& hint : list) {
        if (hint.nodes) fewest = std::min(fewest.value_or(64), hint.nodes->size());
      }
      wanted_ = std::max(wanted_, fewest.value_or(0));
    }
  }

  // Whether the candidate takes the place of the current best, both being not empty.
  bool replaces(const Hint& current, const Hint& candidate) const {
    if (current.preferred != candidate.preferred) return candidate.preferred;
    if (current.preferred) return fits_better(*candidate.nodes, *current.nodes);
    const int now = current.nodes->size();
    const int then = candidate.nodes->size();
    if (now > wanted_) return fits_better(*candidate.nodes, *current.nodes);
    if (now == wanted_) return then == wanted_ && fits_better(*candidate.nodes, *current.nodes);
    if (then > wanted_) return false;
    if (then != now) return then > now;
    return fits_better(*candidate.nodes, *current.nodes);
  }

 private:
  bool fits_better(const NodeSet& one, const NodeSet& other) const {
    if (one.size() != other.size()) return one.size() < other.size();
    if (closest_ && average(one) != average(other)) return average(one) < average(other);
    return one.word() < other.word();
  }
  double average(const NodeSet& nodes) const {
    double sum = 0;
    for (const NodeId from : nodes) {
      for (const NodeId to : nodes) {
        sum += static_cast<double>(machine_.distances.at(static_cast<std::size_t>(from.value))
                                       .at(static_cast<std::size_t>(to.value)));
      }
    }
    return sum / (nodes.size() * nodes.size());
  }

  const NumaMap& machine_;
  bool closest_;
  int wanted_ = 0;
};

Hint combine(const NodeSet& all, const std::vector<const Hint*>& hints) {
  Hint merged{.nodes = all, .preferred = true};
  const NodeSet* first = nullptr;
  for (const Hint* hint : hints) {
    if (!hint->preferred) merged.preferred = false;
    if (!hint->nodes) continue;
    if (first == nullptr) first = &*hint->nodes;
    if (*hint->nodes != *first) merged.preferred = false;
    *merged.nodes &= *hint->nodes;
  }
  return merged;
}

}  // namespace

std::vector<Hint> reference_list(const HintFamily& family, const NodeSet& nodes) {
  std::vector<Hint> hints = family.listed;
  if (!family.threshold) return hints;
  const std::uint64_t all = nodes.word();
  for (std::uint64_t mask = all; mask != 0; mask = (mask - 1) & all) {
    const NodeSet subset = NodeSet::of_word(mask);
    if (!admits(*family.threshold, subset)) continue;
    hints.push_back({.nodes = subset, .preferred = prefers(family.preference, subset)});
  }
  return hints;
}

std::int64_t count_combinations(const HintLists& lists, std::int64_t most) {
  std::int64_t product = 1;
  for (const auto& list : lists) {
    if (list && !list->empty()) product *= static_cast<std::int64_t>(list->size());
    if (product >= most) return most;
  }
  return product;
}

Merged reference_merge(const NumaMap& machine, const HintLists& lists,
                       const TopologyOptions& options) {
  if (options.policy == TopologyPolicy::kNone) return {.hint = {}, .admit = true};
  const bool single = options.policy == TopologyPolicy::kSingleNumaNode;
  const Lists all = without_gaps(lists, options.policy);
  const Comparison comparison(machine, all, options.prefer_closest_numa && !single);
  std::optional<Hint> best;
  std::vector<std::size_t> at(all.size(), 0);
  bool more = std::none_of(all.begin(), all.end(), [](const auto& list) { return list.empty(); });
  while (more) {
    std::vector<const Hint*> hints;
    for (std::size_t i = 0; i < all.size(); ++i) hints.push_back(&all[i][at[i]]);
    const Hint merged = combine(machine.nodes, hints);
    if (!merged.nodes->empty() && (!best || comparison.replaces(*best, merged))) best = merged;
    more = false;
    for (std::size_t i = all.size(); i-- > 0 && !more;) {
      more = ++at[i] < all[i].size();
      if (!more) at[i] = 0;
    }
  }
  Merged answer{.hint = best.value_or(Hint{.nodes = machine.nodes, .preferred = false})};
  if (single && answer.hint.nodes == machine.nodes) answer.hint.nodes.reset();
  answer.admit = options.policy == TopologyPolicy::kBestEffort || answer.hint.preferred;
  return answer;
}

}  // namespace corehold
