// SPDX-License-Identifier: Apache-2.0
#include "hints/testing.h"

#include <algorithm>

#include <fmt/format.h>

#include "hints/family.h"

namespace corehold {
namespace {

NodeSet some_of(Dice& dice, const NodeSet& nodes, int one_in) {
  NodeSet some;
  for (const NodeId node : nodes) {
    if (dice.one_in(one_in)) some.insert(node);
  }
  return some;
}

// Ids without gaps, or, now and then, with some.
NodeSet random_nodes(Dice& dice, int count) {
  NodeSet nodes;
  const bool gaps = dice.one_in(4);
  for (int id = 0; nodes.size() < count; ++id) {
    const bool must = 64 - id <= count - nodes.size();
    if (must || !gaps || dice.one_in(2)) nodes.insert(NodeId(id));
  }
  return nodes;
}

NumaMap random_map(Dice& dice, int count, Distances distances) {
  NumaMap map{.nodes = random_nodes(dice, count)};
  const auto rows = static_cast<std::size_t>(map.nodes.last().value) + 1;
  map.distances.assign(rows, std::vector<std::int64_t>(rows, 0));
  const int block = 1 + dice.roll(4);
  const int outer = block * (1 + dice.roll(3));
  std::vector<int> rank(rows);
  int position = 0;
  for (const NodeId node : map.nodes) rank[static_cast<std::size_t>(node.value)] = position++;
  for (const NodeId from : map.nodes) {
    for (const NodeId to : map.nodes) {
      const auto a = static_cast<std::size_t>(from.value);
      const auto b = static_cast<std::size_t>(to.value);
      int distance = 10;
      if (distances == Distances::kAny) {
        if (a != b) distance = 11 + dice.roll(dice.one_in(2) ? 3 : 30);
      } else if (a != b) {
        distance = rank[a] / block == rank[b] / block   ? 12
                   : rank[a] / outer == rank[b] / outer ? 20
                                                        : 32;
      }
      map.distances[a][b] = distance;
    }
  }
  return map;
}

Need random_need(Dice& dice, const NodeSet& nodes, int largest) {
  Need need;
  std::int64_t sum = 0;
  const bool alike = dice.one_in(2);
  const int each = dice.roll(largest) + 1;
  for (const NodeId node : nodes) {
    const int amount = alike && !dice.one_in(4) ? each : dice.roll(largest + 1);
    need.piles.push_back({.nodes = {node}, .amount = amount});
    sum += amount;
  }
  need.amount = dice.roll(static_cast<int>(std::min<std::int64_t>(sum, 100'000)) + 1);
  if (dice.one_in(2)) need.amount = std::min<std::int64_t>(need.amount, std::int64_t{2} * each);
  return need;
}

HintFamily random_cpus(Dice& dice, const NodeSet& nodes) {
  HintFamily family;
  Threshold& threshold = family.threshold.emplace();
  threshold.within = nodes;
  threshold.needs.push_back(random_need(dice, nodes, 8));
  if (dice.one_in(4)) threshold.required = some_of(dice, nodes, 4);
  return family;
}

// As the sets of memory are: single nodes, groups, and whatever free nodes give together.
HintFamily random_memory(Dice& dice, const NodeSet& nodes) {
  HintFamily family;
  const NodeSet free = some_of(dice, nodes, 2);
  for (const NodeId node : nodes) {
    if (dice.one_in(2)) family.listed.push_back({.nodes = NodeSet{node}});
  }
  const NodeSet group = some_of(dice, nodes - free, 2);
  if (group.size() > 1) family.listed.push_back({.nodes = group});
  Threshold& threshold = family.threshold.emplace();
  threshold.within = free;
  threshold.needs.push_back(random_need(dice, free, 1000));
  if (dice.one_in(2)) threshold.needs.push_back(random_need(dice, free, 4));
  Need two{.amount = 2};
  for (const NodeId node : free) two.piles.push_back({.nodes = {node}, .amount = 1});
  threshold.needs.push_back(std::move(two));
  return family;
}

HintFamily random_devices(Dice& dice, const NodeSet& nodes) {
  HintFamily family;
  Threshold& threshold = family.threshold.emplace();
  threshold.within = nodes;
  Need need;
  const int devices = 1 + dice.roll(6);
  for (int i = 0; i < devices; ++i) {
    need.piles.push_back({.nodes = some_of(dice, nodes, 3), .amount = 1});
  }
  need.amount = dice.roll(devices + 1);
  threshold.needs.push_back(std::move(need));
  return family;
}

HintFamily random_list(Dice& dice, const NodeSet& nodes) {
  HintFamily family;
  const int count = dice.roll(10);
  for (int i = 0; i < count; ++i) {
    Hint hint{.nodes = some_of(dice, nodes, 2), .preferred = dice.one_in(2)};
    if (dice.one_in(12)) hint.nodes.reset();
    family.listed.push_back(hint);
  }
  return family;
}

// A preferred size near the smallest that can be had, so that some agree.
void prefer(Dice& dice, HintFamily& family, const NodeSet& nodes) {
  const auto fewest = family.threshold ? narrowest(*family.threshold) : std::nullopt;
  family.preference.size = fewest && !dice.one_in(3) ? *fewest : 1 + dice.roll(nodes.size());
  for (Hint& hint : family.listed) {
    hint.preferred = hint.nodes && hint.nodes->size() == family.preference.size;
  }
}

void align_by_socket(Dice& dice, HintFamily& family, const NodeSet& nodes) {
  const int per_socket = 1 + dice.roll(3);
  int position = 0;
  for (const NodeId node : nodes) {
    if (position++ % per_socket == 0) family.preference.socket_nodes.emplace_back();
    family.preference.socket_nodes.back().insert(node);
  }
  family.preference.sockets = (family.preference.size + per_socket - 1) / per_socket;
}

}  // namespace

std::uint64_t Dice::roll() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t value = state_;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

int Dice::roll(int sides) { return static_cast<int>(roll() % static_cast<std::uint64_t>(sides)); }

MergeCase random_case(Dice& dice, int nodes, int resources, Distances distances, Lists lists) {
  MergeCase test{.machine = random_map(dice, nodes, distances)};
  test.options.policy = static_cast<TopologyPolicy>(dice.roll(8) == 0 ? 0 : 1 + dice.roll(3));
  test.options.prefer_closest_numa = dice.one_in(2);
  bool sockets = dice.one_in(3);  // one resource at most cares about sockets
  for (int i = 0; i < resources; ++i) {
    ResourceHints resource{.resource = fmt::format("r{}", i)};
    const int kind = dice.roll(lists == Lists::kSome ? 12 : 10);
    if (kind == 0) {
      if (dice.one_in(2)) resource.family = HintFamily{};
    } else if (kind < 5) {
      resource.family = random_cpus(dice, test.machine.nodes);
    } else if (kind < 8) {
      resource.family = random_memory(dice, test.machine.nodes);
    } else if (kind < 10) {
      resource.family = random_devices(dice, test.machine.nodes);
    } else {
      resource.family = random_list(dice, test.machine.nodes);
    }
    if (resource.family && kind < 10) prefer(dice, *resource.family, test.machine.nodes);
    if (sockets && kind > 0 && kind < 5) {
      align_by_socket(dice, *resource.family, test.machine.nodes);
      sockets = false;
    }
    test.resources.push_back(std::move(resource));
  }
  return test;
}

std::string describe(const std::vector<ResourceHints>& hints, int nodes) {
  if (hints.empty()) return "not asked";
  if (!hints.front().family) return "any";
  std::string preferred;
  std::string others;
  for (std::uint64_t mask = 1; mask < std::uint64_t{1} << nodes; ++mask) {
    const NodeSet set = NodeSet::of_word(mask);
    const auto found = preference_for(*hints.front().family, set);
    if (!found) continue;
    std::string& list = *found ? preferred : others;
    list += (list.empty() ? "" : " ") + set.str();
  }
  return preferred + "; " + others;
}

std::string describe(const MergeCase& test) {
  std::string text =
      fmt::format("nodes {}, policy {}{}\n", test.machine.nodes.str(), name_of(test.options.policy),
                  test.options.prefer_closest_numa ? ", closest" : "");
  for (const NodeId from : test.machine.nodes) {
    for (const NodeId to : test.machine.nodes) {
      text += fmt::format(" {}", test.machine.distances[static_cast<std::size_t>(from.value)]
                                                       [static_cast<std::size_t>(to.value)]);
    }
    text += "\n";
  }
  for (const ResourceHints& resource : test.resources) {
    text += resource.resource + ":";
    if (!resource.family) text += " does not care";
    if (resource.family) {
      for (const Hint& hint : list_hints(*resource.family, 80)) {
        text += fmt::format(" {}{}", hint.nodes ? "{" + hint.nodes->str() + "}" : "any",
                            hint.preferred ? "*" : "");
      }
    }
    text += "\n";
  }
  return text;
}

std::string describe(const Merged& merged) {
  return fmt::format("{}{}{}{}", merged.hint.nodes ? "{" + merged.hint.nodes->str() + "}" : "any",
                     merged.hint.preferred ? " preferred" : "",
                     merged.admit ? " admitted" : " refused", merged.exact ? "" : " not exact");
}

}  // namespace corehold
