// SPDX-License-Identifier: Apache-2.0
#include "hints/party.h"

#include <algorithm>

namespace corehold {

Party::Party(const Threshold& threshold)
    : required_(threshold.required.word()), within_(threshold.within.word()) {
  stocks_.reserve(threshold.needs.size());
  for (const Need& need : threshold.needs) {
    Stock stock{.needed = need.amount};
    for (const Pile& pile : need.piles) {
      const Mask nodes = pile.nodes.word();
      if (nodes == 0 || pile.amount == 0) continue;
      if (count(nodes) == 1) {
        stock.alone[static_cast<std::size_t>(lowest(nodes))] += pile.amount;
      } else {
        stock.shared.emplace_back(nodes, pile.amount);
        shared_nodes_ |= nodes;
      }
    }
    stock.lightest_first.reserve(static_cast<std::size_t>(count(within_)));
    for_each_node(within_, [&](int node) { stock.lightest_first.push_back(node); });
    std::sort(stock.lightest_first.begin(), stock.lightest_first.end(), [&](int a, int b) {
      const std::int64_t left = stock.alone[static_cast<std::size_t>(a)];
      const std::int64_t right = stock.alone[static_cast<std::size_t>(b)];
      return left != right ? left < right : a < b;
    });
    stocks_.push_back(std::move(stock));
  }
}

std::int64_t Party::Stock::reach(Mask mask) const {
  std::int64_t sum = 0;
  for_each_node(mask, [&](int node) { sum += alone[static_cast<std::size_t>(node)]; });
  for (const auto& [nodes, amount] : shared) {
    if ((nodes & mask) != 0) sum += amount;
  }
  return sum;
}

bool Party::admits(Mask mask) const {
  if ((required_ & ~mask) != 0 || (mask & ~within_) != 0) return false;
  return std::all_of(stocks_.begin(), stocks_.end(),
                     [&](const Stock& stock) { return stock.reach(mask) >= stock.needed; });
}

void Party::join(const Party& other) {
  required_ |= other.required_;
  within_ &= other.within_;
  shared_nodes_ |= other.shared_nodes_;
  stocks_.insert(stocks_.end(), other.stocks_.begin(), other.stocks_.end());
}

std::int64_t Party::Stock::loss(Mask has, int node) const {
  std::int64_t sum = alone[static_cast<std::size_t>(node)];
  for (const auto& [nodes, amount] : shared) {
    if ((nodes & has) == bit_of(node)) sum += amount;
  }
  return sum;
}

int Party::Stock::most_droppable(Mask free, std::int64_t slack, int most) const {
  int dropped = 0;
  for (const int node : lightest_first) {
    if (dropped == most) break;
    if ((free & bit_of(node)) == 0) continue;
    slack -= alone[static_cast<std::size_t>(node)];
    if (slack < 0) break;
    ++dropped;
  }
  return dropped;
}

Party::Stock::Lightest Party::Stock::lightest(Mask of, int how_many) const {
  Lightest found;
  for (const int node : lightest_first) {
    if ((of & bit_of(node)) == 0) continue;
    const std::int64_t own = alone[static_cast<std::size_t>(node)];
    if (count(found.nodes) == how_many) {
      found.next = own;
      break;
    }
    found.nodes |= bit_of(node);
    found.sum += own;
    found.heaviest = own;
  }
  return found;
}

}  // namespace corehold
