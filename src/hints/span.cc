// SPDX-License-Identifier: Apache-2.0
#include "hints/span.h"

#include <algorithm>
#include <functional>

namespace corehold {
namespace {

bool overlap(const std::vector<Mask>& sockets) {
  Mask seen = 0;
  return std::any_of(sockets.begin(), sockets.end(), [&seen](Mask socket) {
    const bool again = (seen & socket) != 0;
    seen |= socket;
    return again;
  });
}

// What each node of the mask holds alone, the most first.
std::vector<std::int64_t> amounts(const Party::Stock& stock, Mask mask) {
  std::vector<std::int64_t> all;
  all.reserve(64);
  for_each_node(mask,
                [&](int node) { all.push_back(stock.alone[static_cast<std::size_t>(node)]); });
  std::sort(all.begin(), all.end(), std::greater<>());
  return all;
}

}  // namespace

int Span::touched(Mask mask) const {
  return static_cast<int>(std::count_if(sockets.begin(), sockets.end(),
                                        [&](Mask nodes) { return (nodes & mask) != 0; }));
}

std::int64_t Span::richest(const Party::Stock& stock, Mask kept, Mask rest, int more) const {
  if (overlap(sockets)) return stock.reach(kept | rest);
  const auto wide = static_cast<std::size_t>(count) + 1;
  const auto high = static_cast<std::size_t>(more) + 1;
  std::vector<std::int64_t> best(wide * high, -1);  // by sockets touched and nodes added
  best[0] = 0;
  for (const Mask socket : sockets) {
    const std::vector<std::int64_t> adds = amounts(stock, socket & rest);
    std::vector<std::int64_t> next(wide * high, -1);
    for (std::size_t at = 0; at < best.size(); ++at) {
      if (best[at] < 0) continue;
      std::int64_t sum = best[at];
      for (std::size_t added = 0; added <= adds.size(); ++added) {
        if (added > 0) sum += adds[added - 1];
        const std::size_t touching = at / high + ((added > 0 || (socket & kept) != 0) ? 1 : 0);
        const std::size_t nodes = at % high + added;
        if (touching >= wide || nodes >= high) break;
        std::int64_t& entry = next[touching * high + nodes];
        entry = std::max(entry, sum);
      }
    }
    best = std::move(next);
  }
  if (best.back() < 0) return -1;
  std::int64_t sum = best.back();
  for (const std::int64_t amount : amounts(stock, kept)) sum += amount;
  for (const auto& [nodes, amount] : stock.shared) sum += amount;
  return sum;
}

}  // namespace corehold
