// SPDX-License-Identifier: Apache-2.0
#include "hints/search.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/check.h"

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
      }
    }
    for_each_node(within_, [&](int node) { stock.lightest_first.push_back(node); });
    std::stable_sort(stock.lightest_first.begin(), stock.lightest_first.end(), [&](int a, int b) {
      return stock.alone[static_cast<std::size_t>(a)] < stock.alone[static_cast<std::size_t>(b)];
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
  stocks_.insert(stocks_.end(), other.stocks_.begin(), other.stocks_.end());
}

bool Effort::use(int amount) {
  if (left < amount) spent = true;
  left = std::max(0, left - amount);
  return !spent;
}

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// What one party still has, and how much it could still lose of each stock.
struct Hand {
  Mask has = 0;
  std::vector<std::int64_t> slack{};
};

class Search {
 public:
  Search(const SearchProblem& problem, Effort& effort) : problem_(problem), effort_(effort) {}

  std::optional<Mask> run() {
    outs_ = count(problem_.pool) - problem_.size;
    ins_ = problem_.size;
    if (outs_ < 0 || ins_ <= 0) return std::nullopt;
    for (const Party& party : problem_.parties) {
      Hand hand{.has = party.within()};
      for (const auto& stock : party.stocks()) {
        hand.slack.push_back(stock.reach(hand.has) - stock.needed);
        if (hand.slack.back() < 0) return std::nullopt;
      }
      hands_.push_back(std::move(hand));
    }
    if (problem_.closeness == nullptr) {
      descend(problem_.pool);
      return best_;
    }
    return problem_.closeness->is_blocky() ? run_by_limits() : run_by_bounds();
  }

 private:
  // Blocks: the bound is nearly always reached, so try it as a limit, then the next value
  // that turned up, and so on. The first hit is the best and the lowest.
  std::optional<Mask> run_by_limits() {
    limit_ = problem_.closeness->bound(0, problem_.pool, problem_.size);
    while (!best_) {
      next_limit_ = kNoLimit;
      dead_ends_.clear();
      descend(problem_.pool);
      if (effort_.spent || next_limit_ == kNoLimit) break;
      limit_ = next_limit_;
    }
    return best_;
  }

  // Any distances: keep the best so far, and leave what cannot be better.
  std::optional<Mask> run_by_bounds() {
    limit_ = kNoLimit - 1;
    improve_ = true;
    descend(problem_.pool);
    return best_;
  }

  // Decides on the highest node of `rest`. Leaving it out is tried first, so that the first
  // answer found is the lowest. True: stop, the answer is found.
  bool descend(Mask rest) {
    if (outs_ == 0) return finish(rest);
    const int unit = problem_.closeness == nullptr ? 1 : 4;
    if (!effort_.use(unit)) return false;
    if (!can_drop_enough(rest) || !can_span(rest) || !is_close_enough(rest)) return false;
    std::vector<std::int64_t> key = key_of(rest);
    if (dead_ends_.contains(key)) return false;
    const int node = highest(rest);
    const Mask below = rest & ~bit_of(node);
    if (leave_out(node, below)) return true;
    if (ins_ > 0) {
      --ins_;
      kept_ |= bit_of(node);
      const bool found = descend(below);
      kept_ &= ~bit_of(node);
      ++ins_;
      if (found) return true;
    }
    dead_ends_.insert(std::move(key));
    return false;
  }

  // Nothing more has to go: all of `rest` stays.
  bool finish(Mask rest) {
    const Mask answer = kept_ | rest;
    if (problem_.span && touched(answer) != problem_.span->count) return false;
    if (problem_.closeness != nullptr) {
      const std::int64_t total = problem_.closeness->total(answer);
      if (total > limit_) {
        next_limit_ = std::min(next_limit_, total);
        return false;
      }
      best_ = answer;
      if (improve_) limit_ = total - 1;
      return !improve_;
    }
    best_ = answer;
    return true;
  }

  // Some party does without the node.
  bool leave_out(int node, Mask below) {
    struct Choice {
      std::size_t party = 0;
      std::int64_t weight = 0;  // how much of its slack it would cost, in parts of 2^20
    };
    std::vector<Choice> choices;
    choices.reserve(hands_.size());
    for (std::size_t party = 0; party < hands_.size(); ++party) {
      const auto weight = cost(party, node);
      if (weight) choices.push_back({.party = party, .weight = *weight});
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.weight < b.weight; });
    for (const Choice& choice : choices) {
      if (drop(choice.party, node, below)) return true;
      if (choice.weight == 0) return false;  // it cost nothing, so no other choice is better
    }
    return false;
  }

  // No value: the party cannot do without it.
  std::optional<std::int64_t> cost(std::size_t party, int node) const {
    if ((problem_.parties[party].required() & bit_of(node)) != 0) return std::nullopt;
    const auto& stocks = problem_.parties[party].stocks();
    std::int64_t worst = 0;
    for (std::size_t i = 0; i < stocks.size(); ++i) {
      const std::int64_t loss = loss_of(stocks[i], hands_[party].has, node);
      const std::int64_t slack = hands_[party].slack[i];
      if (loss > slack) return std::nullopt;
      if (loss > 0) {
        const double part = static_cast<double>(loss) / static_cast<double>(slack);
        worst = std::max(worst, 1 + static_cast<std::int64_t>(part * (1 << 20)));
      }
    }
    return worst;
  }

  static std::int64_t loss_of(const Party::Stock& stock, Mask has, int node) {
    std::int64_t loss = stock.alone[static_cast<std::size_t>(node)];
    for (const auto& [nodes, amount] : stock.shared) {
      if ((nodes & has) == bit_of(node)) loss += amount;
    }
    return loss;
  }

  bool drop(std::size_t party, int node, Mask below) {
    Hand before = hands_[party];
    Hand& hand = hands_[party];
    const auto& stocks = problem_.parties[party].stocks();
    for (std::size_t i = 0; i < stocks.size(); ++i) {
      hand.slack[i] -= loss_of(stocks[i], hand.has, node);
    }
    hand.has &= ~bit_of(node);
    --outs_;
    const bool found = descend(below);
    ++outs_;
    hands_[party] = std::move(before);
    return found;
  }

  // Whether the parties together could do without as many nodes of `rest` as must go, if
  // each could always give up its lightest ones.
  bool can_drop_enough(Mask rest) const {
    int sum = 0;
    for (std::size_t party = 0; party < hands_.size(); ++party) {
      const Mask free = rest & ~problem_.parties[party].required();
      int most = count(free);
      const auto& stocks = problem_.parties[party].stocks();
      for (std::size_t i = 0; i < stocks.size(); ++i) {
        most = std::min(most, most_droppable(stocks[i], free, hands_[party].slack[i]));
      }
      sum += most;
      if (sum >= outs_) return true;
    }
    return false;
  }

  static int most_droppable(const Party::Stock& stock, Mask free, std::int64_t slack) {
    int dropped = 0;
    for (const int node : stock.lightest_first) {
      if ((free & bit_of(node)) == 0) continue;
      slack -= stock.alone[static_cast<std::size_t>(node)];
      if (slack < 0) break;
      ++dropped;
    }
    return dropped;
  }

  int touched(Mask mask) const {
    const auto& sockets = problem_.span->sockets;
    return static_cast<int>(std::count_if(sockets.begin(), sockets.end(),
                                          [&](Mask nodes) { return (nodes & mask) != 0; }));
  }

  // Whether the right number of sockets can still be touched, and whether they could hold
  // what is needed if the richest ones were chosen.
  bool can_span(Mask rest) const {
    if (!problem_.span) return true;
    const int spare = problem_.span->count - touched(kept_);
    if (spare < 0 || touched(kept_ | rest) < problem_.span->count) return false;
    for (const auto& stock : problem_.parties.front().stocks()) {
      std::int64_t sum = 0;
      std::vector<std::int64_t> others;
      Mask open = kept_;
      for (const Mask socket : problem_.span->sockets) {
        if ((socket & kept_) != 0) open |= socket & rest;
      }
      sum = stock.reach(open);
      for (const Mask socket : problem_.span->sockets) {
        if ((socket & kept_) == 0) others.push_back(stock.reach(socket & rest));
      }
      std::sort(others.rbegin(), others.rend());
      for (std::size_t i = 0; i < std::min(others.size(), static_cast<std::size_t>(spare)); ++i) {
        sum += others[i];
      }
      if (sum < stock.needed) return false;
    }
    return true;
  }

  bool is_close_enough(Mask rest) {
    if (problem_.closeness == nullptr) return true;
    if (ins_ > count(rest)) return false;
    const std::int64_t bound = problem_.closeness->bound(kept_, rest, ins_);
    if (bound <= limit_) return true;
    next_limit_ = std::min(next_limit_, bound);
    return false;
  }

  // Two ways to come here with equal keys have the same future.
  std::vector<std::int64_t> key_of(Mask rest) const {
    std::vector<std::int64_t> key{static_cast<std::int64_t>(rest)};
    const bool place_counts = problem_.closeness != nullptr || problem_.span;
    key.push_back(place_counts ? static_cast<std::int64_t>(kept_) : ins_);
    for (std::size_t party = 0; party < hands_.size(); ++party) {
      const auto& stocks = problem_.parties[party].stocks();
      for (std::size_t i = 0; i < stocks.size(); ++i) {
        key.push_back(hands_[party].slack[i]);
        for (const auto& [nodes, amount] : stocks[i].shared) {
          key.push_back(static_cast<std::int64_t>(nodes & hands_[party].has));
        }
      }
    }
    return key;
  }

  const SearchProblem& problem_;
  Effort& effort_;
  std::vector<Hand> hands_;
  Mask kept_ = 0;
  int outs_ = 0;  // nodes that must still be left out
  int ins_ = 0;   // nodes that must still be kept
  std::int64_t limit_ = kNoLimit;
  std::int64_t next_limit_ = kNoLimit;
  bool improve_ = false;
  std::optional<Mask> best_;
  std::set<std::vector<std::int64_t>> dead_ends_;
};

}  // namespace

std::optional<Mask> find_best(const SearchProblem& problem, Effort& effort) {
  return Search(problem, effort).run();
}

}  // namespace corehold
