// SPDX-License-Identifier: Apache-2.0
#include "hints/family.h"

#include <algorithm>
#include <array>

#include "hints/mask.h"
#include "hints/search.h"

namespace corehold {
namespace {

constexpr int kNarrowestEffort = 20'000;

// On more nodes than this sets can be so many, and those that count so few, that they are
// not all looked at.
constexpr int kAllSubsetsUpTo = 20;
constexpr std::size_t kMostSteps = 1'000'000;

// Walks the sets of a threshold of one size in the order of their lists of ids, with the
// reach of every need carried along.
class Lister {
 public:
  Lister(const HintFamily& family, std::size_t most, std::vector<Hint>& hints)
      : party_(*family.threshold),
        preference_(family.preference),
        span_(span_of(family.preference)),
        most_(most),
        hints_(hints) {
    for_each_node(party_.within(), [&](int node) { nodes_.push_back(node); });
    const std::size_t stocks = party_.stocks().size();
    richest_.assign((nodes_.size() + 1) * stocks, 0);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      for (std::size_t s = 0; s < stocks; ++s) {
        richest_[i * stocks + s] = std::max(richest_[(i + 1) * stocks + s], gain(s, 0, nodes_[i]));
      }
    }
    reach_.assign((nodes_.size() + 1) * stocks, 0);
  }

  // At most so many steps are taken from now on; fewer sets are listed then.
  void limit(std::size_t steps) { steps_left_ = steps; }

  void list(int size) {
    right_size_ = size == preference_.size;
    extend(0, 0, size, 0);
  }

 private:
  // What the node adds to a stock of which `mask` is within reach already.
  std::int64_t gain(std::size_t stock, Mask mask, int node) const {
    const Party::Stock& from = party_.stocks()[stock];
    std::int64_t sum = from.alone[static_cast<std::size_t>(node)];
    for (const auto& [nodes, amount] : from.shared) {
      if ((nodes & bit_of(node)) != 0 && (nodes & mask) == 0) sum += amount;
    }
    return sum;
  }

  // Adds `more` nodes from position `first` on to `mask`, whose reach is in row `depth`.
  void extend(std::size_t first, Mask mask, int more, std::size_t depth) {
    const std::size_t stocks = party_.stocks().size();
    const std::int64_t* reached = reach_.data() + depth * stocks;
    for (std::size_t s = 0; s < stocks; ++s) {
      if (reached[s] + more * richest_[first * stocks + s] < party_.stocks()[s].needed) return;
    }
    const std::size_t last = nodes_.size() - static_cast<std::size_t>(more);
    for (std::size_t i = first; i <= last && hints_.size() < most_ && steps_left_ > 0; ++i) {
      --steps_left_;
      const int node = nodes_[i];
      const Mask larger = mask | bit_of(node);
      if (more == 1) {
        if (is_enough(reached, mask, node) && (party_.required() & ~larger) == 0) add(larger);
      } else {
        for (std::size_t s = 0; s < stocks; ++s) {
          reach_[(depth + 1) * stocks + s] = reached[s] + gain(s, mask, node);
        }
        extend(i + 1, larger, more - 1, depth + 1);
      }
      if ((party_.required() & bit_of(node)) != 0) return;  // it may not be passed over
    }
  }

  bool is_enough(const std::int64_t* reached, Mask mask, int node) const {
    for (std::size_t s = 0; s < party_.stocks().size(); ++s) {
      if (reached[s] + gain(s, mask, node) < party_.stocks()[s].needed) return false;
    }
    return true;
  }

  void add(Mask mask) {
    const bool preferred = right_size_ || (span_.count != 0 && span_.touched(mask) == span_.count);
    hints_.push_back({.nodes = NodeSet::of_word(mask), .preferred = preferred});
  }

  Party party_;
  const Preference& preference_;
  Span span_;
  std::size_t most_;
  std::vector<Hint>& hints_;
  bool right_size_ = false;
  std::size_t steps_left_ = std::numeric_limits<std::size_t>::max();
  std::vector<int> nodes_{};
  std::vector<std::int64_t> richest_{};  // by position and stock: the most one later node adds
  std::vector<std::int64_t> reach_{};    // by depth and stock
};

// How many hints the lists of this size would have if nothing were forbidden.
std::size_t subsets(int nodes) {
  return nodes < 17 ? std::size_t{1} << nodes : std::size_t{1} << 17;
}

bool comes_before(const Hint& a, const Hint& b) {
  const NodeSet left = a.nodes.value_or(NodeSet{});
  const NodeSet right = b.nodes.value_or(NodeSet{});
  if (left.size() != right.size()) return left.size() < right.size();
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                      [](NodeId x, NodeId y) { return x.value < y.value; });
}

}  // namespace

Span span_of(const Preference& preference) {
  Span span{.count = preference.sockets};
  span.sockets.reserve(preference.socket_nodes.size());
  for (const NodeSet& socket : preference.socket_nodes) span.sockets.push_back(socket.word());
  return span;
}

bool is_preferred(const Preference& preference, Mask mask) {
  if (count(mask) == preference.size) return true;
  return preference.sockets != 0 && span_of(preference).touched(mask) == preference.sockets;
}

std::int64_t reach(const Need& need, const NodeSet& nodes) {
  std::int64_t sum = 0;
  for (const Pile& pile : need.piles) {
    if (pile.nodes.intersects(nodes)) sum += pile.amount;
  }
  return sum;
}

bool contains(const Threshold& threshold, const NodeSet& nodes) {
  return threshold.required.is_subset_of(nodes) && nodes.is_subset_of(threshold.within) &&
         std::all_of(threshold.needs.begin(), threshold.needs.end(),
                     [&](const Need& need) { return reach(need, nodes) >= need.amount; });
}

std::optional<bool> preference_for(const HintFamily& family, const NodeSet& nodes) {
  std::optional<bool> found;
  for (const Hint& hint : family.listed) {
    if (hint.nodes == nodes) found = found.value_or(false) || hint.preferred;
  }
  if (found || nodes.empty() || !family.threshold) return found;
  if (!contains(*family.threshold, nodes)) return std::nullopt;
  return is_preferred(family.preference, nodes.word());
}

std::optional<int> narrowest(const Threshold& threshold) {
  Effort effort{.left = kNarrowestEffort};
  return narrowest(Party(threshold), effort);
}

bool is_empty(const HintFamily& family) {
  if (!family.listed.empty()) return false;
  return !family.threshold || family.threshold->within.empty() ||
         !contains(*family.threshold, family.threshold->within);
}

std::vector<Hint> list_hints(const HintFamily& family, std::size_t most) {
  std::vector<Hint> hints;
  if (family.threshold) {
    const int nodes = family.threshold->within.size();
    hints.reserve(std::min(most, subsets(nodes)));
    Lister lister(family, most, hints);
    if (nodes > kAllSubsetsUpTo) lister.limit(kMostSteps);
    for (int size = 1; size <= nodes && hints.size() < most; ++size) lister.list(size);
  }
  if (!family.listed.empty()) {
    hints.insert(hints.end(), family.listed.begin(), family.listed.end());
    std::stable_sort(hints.begin(), hints.end(), comes_before);
    hints.resize(std::min(hints.size(), most));
  }
  return hints;
}

}  // namespace corehold
