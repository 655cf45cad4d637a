// SPDX-License-Identifier: Apache-2.0
#include "alloc/node_choice.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace corehold {
namespace {

// How many sets of further sockets are looked at.
constexpr std::int64_t kMostSocketSets = 256;
constexpr int kLocalDistance = 10;
constexpr int kRemoteDistance = 20;

NodeSlots bit(int slot) { return NodeSlots{1} << slot; }

template <typename Visit>
void each(NodeSlots slots, Visit visit) {
  for (; slots != 0; slots &= slots - 1) visit(std::countr_zero(slots));
}

int at(const std::vector<int>& counts, int slot) { return counts[static_cast<std::size_t>(slot)]; }

// Ways to pick `count` of `from`, or one more than `most` where they are more than that.
std::int64_t ways(std::int64_t from, std::int64_t count, std::int64_t most) {
  std::int64_t product = 1;
  for (std::int64_t i = 1; i <= std::min(count, from - count); ++i) {
    product = product * (from - i + 1) / i;
    if (product > most) return most + 1;
  }
  return product;
}

// Calls visit(picked) for every way to pick `count` of `from`, in lexicographic order.
template <typename Visit>
void each_pick(const std::vector<int>& from, int count, Visit visit) {
  const auto size = static_cast<int>(from.size());
  if (count > size) return;
  std::vector<int> index(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) index[static_cast<std::size_t>(i)] = i;
  while (true) {
    std::vector<int> picked;
    picked.reserve(index.size());
    for (const int i : index) picked.push_back(at(from, i));
    visit(picked);
    int last = count - 1;
    while (last >= 0 && at(index, last) == size - count + last) --last;
    if (last < 0) return;
    ++index[static_cast<std::size_t>(last)];
    for (int i = last + 1; i < count; ++i) {
      index[static_cast<std::size_t>(i)] = at(index, i - 1) + 1;
    }
  }
}

NodeSlots slots_of(const std::vector<int>& list) {
  NodeSlots slots = 0;
  for (const int slot : list) slots |= bit(slot);
  return slots;
}

}  // namespace

std::optional<std::vector<int>> even_groups(const NodeWish& wish, NodeSlots nodes) {
  if (wish.wanted % wish.group_size != 0) return std::nullopt;
  std::vector<int> groups(wish.base.size());
  // The node with fewest CPUs is next, so no other order ends more even.
  for (int left = wish.wanted / wish.group_size; left > 0; --left) {
    int next = -1;
    int fewest = std::numeric_limits<int>::max();
    each(nodes, [&](int slot) {
      const int added = at(groups, slot) * wish.group_size;
      if (at(wish.room, slot) - added < wish.group_size) return;
      if (at(wish.base, slot) + added >= fewest) return;
      fewest = at(wish.base, slot) + added;
      next = slot;
    });
    if (next < 0) return std::nullopt;
    ++groups[static_cast<std::size_t>(next)];
  }
  return groups;
}

NodeChoice::NodeChoice(const Topology& topology, NodeWish wish)
    : topology_(topology),
      wish_(std::move(wish)),
      count_(static_cast<int>(topology.nodes().size())) {
  for (int slot = 0; slot < count_; ++slot) {
    if (at(wish_.base, slot) > 0) kept_ |= bit(slot);
  }
}

std::optional<NodeSlots> NodeChoice::run() const {
  if (suffices(kept_)) return kept_;
  if (wish_.align_by_socket && topology_.sockets().size() <= topology_.nodes().size()) {
    return run_by_socket();
  }
  return run_within(~NodeSlots{0});
}

int NodeChoice::room(NodeSlots nodes) const {
  int sum = 0;
  each(nodes, [&](int slot) { sum += at(wish_.room, slot); });
  return sum;
}

bool NodeChoice::suffices(NodeSlots nodes) const {
  return room(nodes) >= wish_.wanted && (!wish_.suits || wish_.suits(nodes));
}

NodeChoice::Cost NodeChoice::cost(NodeSlots nodes) const {
  Cost cost{.distance = distance(nodes)};
  NodeSlots sockets = 0;
  bool few_sockets = topology_.sockets().size() <= 64;
  each(nodes, [&](int slot) {
    for (const Slot socket : topology_.node(slot).sockets) {
      if (few_sockets) sockets |= bit(socket);
    }
  });
  cost.sockets = std::popcount(sockets);
  if (!wish_.evenly) return cost;
  if (const auto groups = even_groups(wish_, nodes)) {
    each(nodes, [&](int slot) {
      const std::int64_t cpus = at(wish_.base, slot) + at(*groups, slot) * wish_.group_size;
      cost.unevenness += cpus * cpus;
    });
  }
  return cost;
}

std::int64_t NodeChoice::distance(NodeSlots nodes) const {
  std::int64_t total = 0;
  each(nodes, [&](int from) { each(nodes, [&](int to) { total += between(from, to); }); });
  return total;
}

std::int64_t NodeChoice::between(int from, int to) const {
  const auto width = static_cast<std::size_t>(count_);
  if (distances_.empty()) {
    std::array<int, kMaxNodes> slot_of{};
    slot_of.fill(-1);
    for (int slot = 0; slot < count_; ++slot) {
      slot_of[static_cast<std::size_t>(topology_.node(slot).id.value)] = slot;
    }
    distances_.assign(width * width, kRemoteDistance);
    for (std::size_t slot = 0; slot < width; ++slot)
      distances_[slot * width + slot] = kLocalDistance;
    for (const DistanceRow& row : topology_.distances()) {
      const int start = slot_of[static_cast<std::size_t>(row.from.value)];
      for (const auto& [node, value] : row.to) {
        const int end = slot_of[static_cast<std::size_t>(node.value)];
        if (start < 0 || end < 0) continue;
        distances_[static_cast<std::size_t>(start) * width + static_cast<std::size_t>(end)] = value;
      }
    }
  }
  return distances_[static_cast<std::size_t>(from) * width + static_cast<std::size_t>(to)];
}

// The fewest further sockets whose nodes can hold the CPUs; among so many of them, where
// fewest nodes are needed.
std::optional<NodeSlots> NodeChoice::run_by_socket() const {
  NodeSlots kept = 0;
  each(kept_, [&](int slot) {
    for (const Slot socket : topology_.node(slot).sockets) kept |= bit(socket);
  });
  std::vector<int> sockets;
  std::vector<int> further;
  for (int socket = 0; socket < static_cast<int>(topology_.sockets().size()); ++socket) {
    ((kept & bit(socket)) != 0 ? sockets : further).push_back(socket);
  }
  for (int more = 0; more <= static_cast<int>(further.size()); ++more) {
    std::optional<Best> best;
    const auto weigh = [&](const std::vector<int>& picked) {
      std::vector<int> all = sockets;
      all.insert(all.end(), picked.begin(), picked.end());
      const auto found = widen_to_sockets(all);
      if (!found) return;
      const auto nodes = [](const Best& each) { return std::popcount(each.nodes); };
      if (best && std::pair(nodes(*best), best->cost) <= std::pair(nodes(*found), found->cost))
        return;
      best = found;
    };
    if (ways(static_cast<std::int64_t>(further.size()), more, kMostSocketSets) <= kMostSocketSets) {
      each_pick(further, more, weigh);
    } else {
      std::vector<int> roomiest = further;
      const auto room_in = [this](int socket) {
        NodeSlots inside = 0;
        for (const Slot node : topology_.socket(socket).nodes) inside |= bit(node);
        return room(inside);
      };
      std::stable_sort(roomiest.begin(), roomiest.end(),
                       [&](int one, int two) { return room_in(one) > room_in(two); });
      roomiest.resize(static_cast<std::size_t>(more));
      weigh(roomiest);
    }
    if (best) return best->nodes;
  }
  return std::nullopt;
}

std::optional<NodeChoice::Best> NodeChoice::widen_to_sockets(
    const std::vector<int>& sockets) const {
  const NodeSlots reach = slots_of(sockets);
  NodeSlots allowed = kept_;
  for (int slot = 0; slot < count_; ++slot) {
    const std::vector<Slot>& own = topology_.node(slot).sockets;
    const auto is_in = [&](Slot socket) { return (reach & bit(socket)) != 0; };
    if (std::all_of(own.begin(), own.end(), is_in)) allowed |= bit(slot);
  }
  const auto nodes = run_within(allowed);
  if (!nodes) return std::nullopt;
  return Best{.nodes = *nodes, .cost = cost(*nodes)};
}

std::optional<NodeSlots> NodeChoice::run_within(NodeSlots allowed) const {
  if (suffices(kept_)) return kept_;
  std::vector<int> candidates;
  for (int slot = 0; slot < count_; ++slot) {
    const bool is_new = (allowed & ~kept_ & bit(slot)) != 0;
    if (is_new && at(wish_.room, slot) > 0) candidates.push_back(slot);
  }
  std::vector<int> rooms;
  rooms.reserve(candidates.size());
  for (const int slot : candidates) rooms.push_back(at(wish_.room, slot));
  std::sort(rooms.rbegin(), rooms.rend());
  int sum = room(kept_);
  for (int more = 1; more <= static_cast<int>(candidates.size()); ++more) {
    sum += at(rooms, more - 1);
    if (sum < wish_.wanted) continue;
    if (const auto nodes = nearest(candidates, more)) return nodes;
  }
  return std::nullopt;
}

std::optional<NodeSlots> NodeChoice::nearest(const std::vector<int>& candidates, int more) const {
  if (ways(static_cast<std::int64_t>(candidates.size()), more, kMostWays) > kMostWays) {
    const NodeSlots nodes = pick_one_by_one(candidates, more);
    return suffices(nodes) ? std::optional(nodes) : std::nullopt;
  }
  std::optional<Best> best;
  each_pick(candidates, more, [&](const std::vector<int>& picked) {
    const NodeSlots nodes = kept_ | slots_of(picked);
    if (room(nodes) < wish_.wanted) return;
    const Cost own = cost(nodes);
    if (best && best->cost <= own) return;
    if (!wish_.suits || wish_.suits(nodes)) best = Best{.nodes = nodes, .cost = own};
  });
  return best ? std::optional(best->nodes) : std::nullopt;
}

// Each time the node nearest to those there are, as long as the roomiest others can then
// make up the rest.
NodeSlots NodeChoice::pick_one_by_one(const std::vector<int>& candidates, int more) const {
  std::vector<int> left = candidates;  // by room, most first
  std::stable_sort(left.begin(), left.end(),
                   [&](int one, int two) { return at(wish_.room, one) > at(wish_.room, two); });
  NodeSlots nodes = kept_;
  for (; more > 0; --more) {
    int next = -1;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    int others = 0;  // the `more` - 1 roomiest
    for (int i = 0; i < more - 1; ++i) others += at(wish_.room, at(left, i));
    const int needed = wish_.wanted - room(nodes);
    for (int i = 0; i < static_cast<int>(left.size()); ++i) {
      const int slot = at(left, i);
      // Where it is one of the roomiest itself, the next one takes its place among them.
      const int rest = i < more - 1
                           ? others - at(wish_.room, slot) + at(wish_.room, at(left, more - 1))
                           : others;
      if (at(wish_.room, slot) + rest < needed) continue;
      std::int64_t added = 0;
      each(nodes, [&](int to) { added += between(slot, to) + between(to, slot); });
      if (added > least || (added == least && next >= 0 && slot > next)) continue;
      least = added;
      next = slot;
    }
    CHECK(next >= 0);
    nodes |= bit(next);
    left.erase(std::find(left.begin(), left.end(), next));
  }
  return nodes;
}

}  // namespace corehold
