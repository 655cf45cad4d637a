// SPDX-License-Identifier: Apache-2.0
#include "hints/merge.h"

#include <algorithm>
#include <map>
#include <set>

#include "hints/family.h"
#include "hints/search.h"

namespace corehold {
namespace {

constexpr int kEffort = 30'000;
// Up to here any distances are searched to the end.
constexpr int kFewNodes = 16;
constexpr int kEffortForFewNodes = 2'000'000;
constexpr std::size_t kMostBranches = 200'000;

// The hints of one resource, prepared: listed sets in order, whether "any nodes" is among
// them, and the threshold.
struct Choices {
  std::vector<Mask> preferred{};  // of the listed, ascending
  std::vector<Mask> listed{};     // all of them, ascending
  bool any = false;               // "any nodes" is a choice
  bool any_preferred = false;     // and a preferred one
  std::optional<Party> party{};   // null also when it admits nothing
  Preference preference{};
};

void sort_unique(std::vector<Mask>& masks) {
  std::sort(masks.begin(), masks.end());
  masks.erase(std::unique(masks.begin(), masks.end()), masks.end());
}

bool has(const std::vector<Mask>& masks, Mask mask) {
  return std::binary_search(masks.begin(), masks.end(), mask);
}

void add(Choices& choices, const Hint& hint) {
  if (!hint.nodes) {
    choices.any = true;
    choices.any_preferred |= hint.preferred;
    return;
  }
  choices.listed.push_back(hint.nodes->word());
  if (hint.preferred) choices.preferred.push_back(hint.nodes->word());
}

Choices choices_of(const HintFamily& family) {
  Choices choices;
  for (const Hint& hint : family.listed) add(choices, hint);
  if (family.threshold && !family.threshold->within.empty()) {
    const Party party(*family.threshold);
    if (party.admits(party.within())) {
      choices.party = party;
      choices.preference = family.preference;
    }
  }
  // Nowhere: any nodes are as bad as any others.
  if (choices.listed.empty() && !choices.any && !choices.party) choices.any = true;
  return choices;
}

// Only single nodes, and only preferred ones, count for single-numa-node.
Choices single_nodes(const HintFamily& family) {
  const Choices all = choices_of(family);
  Choices choices{.any = all.any_preferred, .any_preferred = all.any_preferred};
  for (const Mask mask : all.preferred) {
    if (count(mask) == 1) add(choices, {.nodes = NodeSet::of_word(mask), .preferred = true});
  }
  if (!all.party) return choices;
  for_each_node(all.party->within(), [&](int node) {
    const Mask mask = bit_of(node);
    if (all.party->admits(mask) && is_preferred(all.preference, mask)) {
      add(choices, {.nodes = NodeSet::of_word(mask), .preferred = true});
    }
  });
  return choices;
}

class Merger {
 public:
  Merger(const NumaMap& machine, const TopologyOptions& options)
      : nodes_(machine.nodes.word()), single_(options.policy == TopologyPolicy::kSingleNumaNode) {
    if (options.prefer_closest_numa && !single_) closeness_.emplace(machine.distances, nodes_);
    effort_.left = count(nodes_) <= kFewNodes ? kEffortForFewNodes : kEffort;
  }

  void add_resource(const HintFamily& family) {
    Choices choices = single_ ? single_nodes(family) : choices_of(family);
    sort_unique(choices.listed);
    sort_unique(choices.preferred);
    resources_.push_back(std::move(choices));
  }

  // The best set and whether all resources prefer it.
  Hint run() {
    if (const auto mask = best_preferred()) return {NodeSet::of_word(*mask), true};
    if (const auto mask = best_common()) return {NodeSet::of_word(*mask), false};
    return {NodeSet::of_word(nodes_), false};
  }

  bool exact() const { return !effort_.spent; }

 private:
  // Sets of one size compare by distance, if that counts, then by number.
  bool is_better(Mask mask, Mask than) const {
    if (closeness_) {
      const std::int64_t left = closeness_->total(mask);
      const std::int64_t right = closeness_->total(than);
      if (left != right) return left < right;
    }
    return mask < than;
  }
  void consider(std::optional<Mask>& best, std::optional<Mask> mask) const {
    if (!mask || *mask == 0) return;
    if (!best || count(*mask) < count(*best) ||
        (count(*mask) == count(*best) && is_better(*mask, *best))) {
      best = mask;
    }
  }

  static bool prefers(const Choices& choices, Mask mask) {
    if (choices.any_preferred || has(choices.preferred, mask)) return true;
    return choices.party && choices.party->admits(mask) && is_preferred(choices.preference, mask);
  }

  // The best set that every resource has as a preferred hint.
  std::optional<Mask> best_preferred() {
    std::optional<Mask> best;
    const Choices* pickiest = nullptr;  // one that must have the set on its list
    bool all_any = true;
    for (const Choices& choices : resources_) {
      all_any = all_any && choices.any_preferred;
      if (choices.any_preferred || choices.party) continue;
      if (pickiest == nullptr || choices.preferred.size() < pickiest->preferred.size()) {
        pickiest = &choices;
      }
    }
    if (all_any) best = nodes_;
    for (const Choices& from : resources_) {
      if (pickiest != nullptr && &from != pickiest) continue;
      for (const Mask mask : from.preferred) {
        if (std::all_of(resources_.begin(), resources_.end(),
                        [&](const Choices& choices) { return prefers(choices, mask); })) {
          consider(best, mask & nodes_);
        }
      }
    }
    if (pickiest == nullptr && !all_any) consider(best, best_preferred_of_thresholds());
    return best;
  }

  // The same among the sets that no resource lists.
  std::optional<Mask> best_preferred_of_thresholds() {
    std::optional<Party> together;
    std::vector<const Preference*> preferences;
    for (const Choices& choices : resources_) {
      if (choices.any_preferred) continue;
      preferences.push_back(&choices.preference);
      if (together) {
        together->join(*choices.party);
      } else {
        together = choices.party;
      }
    }
    together->keep_within(nodes_);
    if (!together->admits(together->within())) return std::nullopt;
    for (int size = 1; size <= count(together->within()); ++size) {
      std::vector<Span> spans;
      const bool possible =
          std::all_of(preferences.begin(), preferences.end(), [&](const Preference* preference) {
            if (preference->size == size) return true;
            if (preference->sockets == 0) return false;
            spans.push_back(span_of(*preference));
            return true;
          });
      if (!possible) continue;
      SearchProblem problem = problem_for({*together}, together->within(), size);
      // Only CPUs care about sockets, so there is one span at most.
      if (!spans.empty()) problem.span = std::move(spans.front());
      if (const auto mask = find_best(problem, effort_)) return mask;
    }
    return std::nullopt;
  }

  SearchProblem problem_for(std::vector<Party> parties, Mask pool, int size) const {
    return {.parties = std::move(parties),
            .pool = pool,
            .size = size,
            .closeness = closeness_ ? &*closeness_ : nullptr};
  }

  // What the resources' choices from their lists leave in common, for each list of
  // resources whose threshold is still to be met.
  using Branches = std::map<std::vector<std::size_t>, std::vector<Mask>>;

  Branches branches() {
    Branches now{{{}, {nodes_}}};
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      const Choices& choices = resources_[i];
      Branches next;
      for (auto& [open, masks] : now) {
        std::vector<Mask> common = common_with(masks, choices);
        if (!common.empty()) next[open] = std::move(common);
        if (!choices.party) continue;
        std::vector<std::size_t> wider = open;
        wider.push_back(i);
        next[std::move(wider)] = std::move(masks);
      }
      now = std::move(next);
    }
    return now;
  }

  std::vector<Mask> common_with(const std::vector<Mask>& masks, const Choices& choices) {
    MaskBag bag(nodes_);
    if (choices.any) bag.insert(masks);
    // Large sets first: they leave the most different intersections.
    for (auto mask = masks.rbegin(); mask != masks.rend() && !bag.is_full(); ++mask) {
      for (const Mask listed : choices.listed) bag.insert(*mask & listed);
      if (bag.size() <= kMostBranches) continue;
      effort_.spent = true;
      break;
    }
    return bag.take();
  }

  // Sets without duplicates and without the empty one.
  class MaskBag {
   public:
    explicit MaskBag(Mask nodes)
        : subsets_(count(nodes) < 32 ? std::size_t{1} << count(nodes) : std::size_t{0}) {
      if (nodes != 0 && highest(nodes) < 16) seen_.resize(std::size_t{2} << highest(nodes));
    }
    void insert(const std::vector<Mask>& masks) {
      for (const Mask mask : masks) insert(mask);
    }
    void insert(Mask mask) {
      if (mask == 0) return;
      if (!seen_.empty()) {
        char& seen = seen_[static_cast<std::size_t>(mask)];
        if (seen != 0) return;
        seen = 1;
      }
      masks_.push_back(mask);
      if (seen_.empty() && masks_.size() >= limit_) {
        sort_unique(masks_);
        limit_ = 2 * masks_.size() + 1024;
      }
    }
    std::size_t size() const { return masks_.size(); }
    // It holds every subset there is.
    bool is_full() const { return !seen_.empty() && masks_.size() + 1 == subsets_; }
    std::vector<Mask> take() {
      sort_unique(masks_);
      return std::move(masks_);
    }

   private:
    std::vector<char> seen_{};  // by mask, where there are few enough
    std::vector<Mask> masks_{};
    std::size_t limit_ = 1024;
    std::size_t subsets_;
  };

  int narrowest_of(const Choices& choices) {
    int fewest = 0;
    for (const Mask mask : choices.listed) {
      if (fewest == 0 || count(mask) < fewest) fewest = count(mask);
      if (fewest == 0) return 0;  // the empty set is on the list
    }
    if (!choices.party) return fewest;
    const int open = narrowest(*choices.party, effort_).value_or(0);
    return fewest == 0 ? open : std::min(fewest, open);
  }

  // The best set that is the intersection of one hint of each resource. Best is one as
  // large as the most demanding resource needs, else as little smaller as possible, else
  // as little larger.
  std::optional<Mask> best_common() {
    int wanted = 0;
    for (const Choices& choices : resources_) wanted = std::max(wanted, narrowest_of(choices));
    const Branches all = branches();
    for (int size = wanted; size >= 1; --size) {
      if (const auto mask = best_of_size(all, size)) return mask;
    }
    for (int size = wanted + 1; size <= count(nodes_); ++size) {
      if (const auto mask = best_of_size(all, size)) return mask;
    }
    return std::nullopt;
  }

  std::optional<Mask> best_of_size(const Branches& all, int size) {
    std::optional<Mask> best;
    for (const auto& [open, masks] : all) {
      std::vector<Party> parties;
      parties.reserve(open.size());
      for (const std::size_t resource : open) parties.push_back(*resources_[resource].party);
      std::set<Mask> pools;
      for (const Mask mask : masks) {
        Mask pool = mask;
        for (const Party& party : parties) pool &= party.within();
        if (count(pool) < size) continue;
        if (count(pool) == size) {
          consider(best, pool);
        } else if (!parties.empty() && pools.insert(pool).second) {
          consider(best, find_best(problem_for(parties, pool, size), effort_));
        }
      }
    }
    return best;
  }

  Mask nodes_;
  bool single_;
  std::optional<Closeness> closeness_;
  Effort effort_;
  std::vector<Choices> resources_;
};

}  // namespace

NumaMap numa_map(const Topology& topology) {
  NumaMap map;
  for (const auto& node : topology.nodes()) map.nodes.insert(node.id);
  if (map.nodes.empty()) return map;
  map.distances.resize(static_cast<std::size_t>(map.nodes.last().value) + 1);
  for (const NodeId from : map.nodes) {
    auto& row = map.distances[static_cast<std::size_t>(from.value)];
    row.resize(map.distances.size());
    for (const NodeId to : map.nodes) {
      row[static_cast<std::size_t>(to.value)] = topology.distance(from, to);
    }
  }
  return map;
}

Merged merge(const NumaMap& machine, const std::vector<ResourceHints>& resources,
             const TopologyOptions& options) {
  if (options.policy == TopologyPolicy::kNone) return {.hint = {}, .admit = true};
  Merger merger(machine, options);
  for (const ResourceHints& resource : resources) {
    if (resource.family) merger.add_resource(*resource.family);
  }
  Merged merged{.hint = merger.run()};
  merged.exact = merger.exact();
  if (options.policy == TopologyPolicy::kSingleNumaNode && merged.hint.nodes == machine.nodes) {
    merged.hint.nodes.reset();
  }
  merged.admit = options.policy == TopologyPolicy::kBestEffort || merged.hint.preferred;
  return merged;
}

}  // namespace corehold
