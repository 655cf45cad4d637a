// SPDX-License-Identifier: Apache-2.0
#include "hints/reference.h"

#include <algorithm>
#include <set>

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

int wanted_by(const Lists& lists) {
  int wanted = 0;
  for (const auto& list : lists) {
    std::optional<int> fewest;
    for (const Hint& hint : list) {
      if (hint.nodes) fewest = std::min(fewest.value_or(64), hint.nodes->size());
    }
    wanted = std::max(wanted, fewest.value_or(0));
  }
  return wanted;
}

double average(const NumaMap& machine, const NodeSet& nodes) {
  double sum = 0;
  for (const NodeId from : nodes) {
    for (const NodeId to : nodes) {
      sum += static_cast<double>(machine.distances.at(static_cast<std::size_t>(from.value))
                                     .at(static_cast<std::size_t>(to.value)));
    }
  }
  return sum / (nodes.size() * nodes.size());
}

bool fits_better(const NumaMap& machine, bool closest, const NodeSet& one, const NodeSet& other) {
  if (one.size() != other.size()) return one.size() < other.size();
  if (closest) {
    const double left = average(machine, one);
    const double right = average(machine, other);
    if (left != right) return left < right;
  }
  return one.word() < other.word();
}

Merged verdict(const NumaMap& machine, const std::optional<Hint>& best, TopologyPolicy policy) {
  Merged answer{.hint = best.value_or(Hint{.nodes = machine.nodes, .preferred = false})};
  if (policy == TopologyPolicy::kSingleNumaNode && answer.hint.nodes == machine.nodes) {
    answer.hint.nodes.reset();
  }
  answer.admit = policy == TopologyPolicy::kBestEffort || answer.hint.preferred;
  return answer;
}

bool counts_distance(const TopologyOptions& options) {
  return options.prefer_closest_numa && options.policy != TopologyPolicy::kSingleNumaNode;
}

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

bool replaces(const NumaMap& machine, int wanted, bool closest, const Hint& current,
              const Hint& candidate) {
  const auto fits = [&] { return fits_better(machine, closest, *candidate.nodes, *current.nodes); };
  if (current.preferred != candidate.preferred) return candidate.preferred;
  if (current.preferred) return fits();
  const int now = current.nodes->size();
  const int then = candidate.nodes->size();
  if (now > wanted) return fits();
  if (now == wanted) return then == wanted && fits();
  if (then > wanted) return false;
  if (then != now) return then > now;
  return fits();
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
  const Lists all = without_gaps(lists, options.policy);
  const int wanted = wanted_by(all);
  std::optional<Hint> best;
  std::vector<std::size_t> at(all.size(), 0);
  bool more = std::none_of(all.begin(), all.end(), [](const auto& list) { return list.empty(); });
  while (more) {
    std::vector<const Hint*> hints;
    for (std::size_t i = 0; i < all.size(); ++i) hints.push_back(&all[i][at[i]]);
    const Hint merged = combine(machine.nodes, hints);
    if (!merged.nodes->empty() &&
        (!best || replaces(machine, wanted, counts_distance(options), *best, merged))) {
      best = merged;
    }
    more = false;
    for (std::size_t i = all.size(); i-- > 0 && !more;) {
      more = ++at[i] < all[i].size();
      if (!more) at[i] = 0;
    }
  }
  return verdict(machine, best, options.policy);
}

Merged reference_fold(const NumaMap& machine, const HintLists& lists,
                      const TopologyOptions& options) {
  if (options.policy == TopologyPolicy::kNone) return {.hint = {}, .admit = true};
  // An intersection with what it came from: the one set all chose so far, if they did, and
  // whether all preferred it. "any" has no set yet.
  struct Partial {
    std::uint64_t common = 0;
    std::optional<std::uint64_t> same{};
    bool preferred = false;

    auto operator<=>(const Partial&) const = default;
  };
  const Lists all = without_gaps(lists, options.policy);
  std::set<Partial> partials{{.common = machine.nodes.word(), .preferred = true}};
  for (const auto& list : all) {
    std::set<Partial> next;
    for (const Partial& partial : partials) {
      for (const Hint& hint : list) {
        Partial joined = partial;
        joined.preferred = joined.preferred && hint.preferred;
        if (hint.nodes) {
          const std::uint64_t mask = hint.nodes->word();
          joined.common &= mask;
          joined.preferred = joined.preferred && joined.same.value_or(mask) == mask;
          joined.same = mask;
        }
        if (!joined.preferred) joined.same = 0;
        if (joined.common != 0) next.insert(joined);
      }
    }
    partials = std::move(next);
  }
  std::optional<Hint> best;
  for (const Partial& partial : partials) {
    const Hint merged{.nodes = NodeSet::of_word(partial.common), .preferred = partial.preferred};
    if (!best || replaces(machine, wanted_by(all), counts_distance(options), *best, merged)) {
      best = merged;
    }
  }
  return verdict(machine, best, options.policy);
}

}  // namespace corehold
