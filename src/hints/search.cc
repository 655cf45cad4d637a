// SPDX-License-Identifier: Apache-2.0
#include "hints/search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

namespace corehold {

bool Effort::use(int amount) {
  if (left < amount) spent = true;
  left = std::max(0, left - amount);
  return !spent;
}

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// One way to have left out the nodes that are out: what each party still has, and how
// much it could still lose of each stock, all parties' stocks one after the other.
struct Hand {
  std::vector<Mask> has{};
  std::vector<std::int64_t> slack{};

  auto operator<=>(const Hand&) const = default;
};

// For a search in which distances no longer count.
constexpr int kEffortAnywhere = 20'000;

// How many hands are carried along where there may be too many.
constexpr std::size_t kBeam = 3;

// All ways that are worth keeping, in ascending order.
using Hands = std::vector<Hand>;

class Search {
 public:
  Search(const SearchProblem& problem, Effort& effort) : problem_(problem), effort_(effort) {}

  std::optional<Mask> run() {
    outs_ = count(problem_.pool) - problem_.size;
    ins_ = problem_.size;
    if (outs_ < 0 || ins_ <= 0) return std::nullopt;
    Hand& all = all_;
    for (const Party& party : problem_.parties) {
      all.has.push_back(party.within());
      for (const Party::Stock& stock : party.stocks()) {
        all.slack.push_back(stock.reach(party.within()) - stock.needed);
        if (all.slack.back() < 0) return std::nullopt;
      }
    }
    if (is_plain()) {
      // Nothing is better than leaving out the highest nodes, if that is possible.
      best_ = leave_out_highest(all, Blocked::kStop);
      if (best_) return best_;
      descend(problem_.pool, {all});
    } else if (problem_.closeness != nullptr) {
      problem_.closeness->is_blocky() ? try_limits(all) : try_bounds(all);
    } else {
      descend(problem_.pool, {all});
    }
    if (!best_ && effort_.spent && !problem_.span) return leave_out_highest(all, Blocked::kSkip);
    return best_;
  }

 private:
  bool is_plain() const { return problem_.closeness == nullptr && !problem_.span; }

  // Blocks: the bound is nearly always reached, so try it as a limit, then the next value
  // that turned up, and so on. The first hit is the best and the lowest.
  void try_limits(const Hand& all) {
    limit_ = problem_.closeness->bound(0, problem_.pool, problem_.size);
    while (!best_) {
      next_limit_ = kNoLimit;
      dead_ends_.clear();
      descend(problem_.pool, {all});
      if (effort_.spent || next_limit_ == kNoLimit) break;
      limit_ = next_limit_;
    }
  }

  // Any distances: keep the best so far, and leave what cannot be better.
  void try_bounds(const Hand& all) {
    limit_ = kNoLimit - 1;
    improve_ = true;
    descend(problem_.pool, {all});
  }

  // Each node, from the highest down, goes to the party that misses it least. No value:
  // not enough could go, or, with kStop, one had to stay. With kSkip, for when there is no
  // time for better, far nodes go before high ones.
  enum class Blocked { kStop, kSkip };
  std::optional<Mask> leave_out_highest(Hand hand, Blocked blocked) const {
    Mask answer = problem_.pool;
    int left = outs_;
    for (Mask rest = problem_.pool; rest != 0 && left > 0;) {
      const int node = blocked == Blocked::kSkip ? farthest(rest, answer) : highest(rest);
      rest &= ~bit_of(node);
      std::optional<Hand> cheapest;
      std::int64_t least = kNoLimit;
      for (std::size_t party = 0; party < hand.has.size(); ++party) {
        const auto cost = cost_of(hand, party, node);
        if (!cost || *cost >= least) continue;
        least = *cost;
        cheapest = without(hand, party, node);
      }
      if (!cheapest && blocked == Blocked::kStop) return std::nullopt;
      if (!cheapest) continue;
      hand = std::move(*cheapest);
      answer &= ~bit_of(node);
      --left;
    }
    return left == 0 ? std::optional(answer) : std::nullopt;
  }

  // The node of `rest` that is farthest from the others of `answer`, the highest of equals.
  int farthest(Mask rest, Mask answer) const {
    if (problem_.closeness == nullptr) return highest(rest);
    int found = highest(rest);
    std::int64_t least = kNoLimit;
    for_each_node(rest, [&](int node) {
      const std::int64_t others = problem_.closeness->total(answer & ~bit_of(node));
      if (others > least) return;
      least = others;
      found = node;
    });
    return found;
  }

  // Decides on the highest node of `rest`. Leaving it out is tried first, so that the first
  // answer found is the lowest. True: stop, the answer is found.
  bool descend(Mask rest, const Hands& hands) {
    if (outs_ == 0) return finish(rest);
    const int dear = problem_.closeness == nullptr ? 1 : 8;
    if (!effort_.use(dear + static_cast<int>(hands.size()))) return false;
    Mask fixed = 0;
    Mask open = rest;
    if (problem_.parties.size() == 1 && !is_plain()) {
      fixed = must_stay(hands.front(), rest);
      open &= ~must_go(hands.front(), rest);
    }
    if (count(fixed) > ins_ || (fixed & ~open) != 0 || count(open) < ins_) return false;
    if (!can_span(fixed, open & ~fixed) || !is_close_enough(fixed, open & ~fixed)) return false;
    Hands able;
    for (const Hand& hand : hands) {
      if (can_drop_enough(hand, rest, outs_)) able.push_back(hand);
    }
    if (able.empty() && is_trimmed()) able = deal_again(rest);
    if (able.empty()) return false;
    std::vector<std::int64_t> key = key_of(rest, able);
    if (dead_ends_.contains(key)) return false;
    const int node = highest(rest);
    const Mask below = rest & ~bit_of(node);
    if (leave_out(node, below, able) || keep(node, below, able)) return true;
    if (!is_trimmed()) dead_ends_.insert(std::move(key));
    return false;
  }

  bool leave_out(int node, Mask below, const Hands& hands) {
    --outs_;
    out_ |= bit_of(node);
    Hands next = all_without(hands, node);
    if (next.empty() && is_trimmed()) next = deal_again(below);
    if (is_trimmed() && next.size() > kBeam) keep_easiest(next);
    const bool found = !next.empty() && descend(below, next);
    out_ &= ~bit_of(node);
    ++outs_;
    return found;
  }

  bool keep(int node, Mask below, const Hands& hands) {
    if (ins_ == 0) return false;
    --ins_;
    kept_ |= bit_of(node);
    const bool found = descend(below, hands);
    kept_ &= ~bit_of(node);
    ++ins_;
    return found;
  }

  // Where distances count, most sets of nodes can be left out in a great many ways, so only
  // a few are carried along and the others are worked out when those come to an end.
  bool is_trimmed() const { return problem_.closeness != nullptr && problem_.parties.size() > 1; }

  void keep_easiest(Hands& hands) const {
    std::vector<std::pair<double, std::size_t>> tightest;
    for (std::size_t i = 0; i < hands.size(); ++i) {
      double least = 1;
      for (std::size_t s = 0; s < hands[i].slack.size(); ++s) {
        const auto before = static_cast<double>(std::max<std::int64_t>(1, all_.slack[s]));
        least = std::min(least, static_cast<double>(hands[i].slack[s]) / before);
      }
      tightest.emplace_back(-least, i);
    }
    std::sort(tightest.begin(), tightest.end());
    Hands kept;
    for (std::size_t i = 0; i < kBeam; ++i) kept.push_back(std::move(hands[tightest[i].second]));
    hands = std::move(kept);
  }

  // All ways to leave out what is out, from the start; the heaviest nodes first.
  Hands deal_again(Mask rest) {
    std::vector<std::pair<double, int>> heaviest;
    for_each_node(out_, [&](int node) {
      double weight = 0;
      std::size_t at = 0;
      for (const Party& party : problem_.parties) {
        for (const Party::Stock& stock : party.stocks()) {
          const auto slack = static_cast<double>(std::max<std::int64_t>(1, all_.slack[at++]));
          weight += static_cast<double>(stock.alone[static_cast<std::size_t>(node)]) / slack;
        }
      }
      heaviest.emplace_back(-weight, node);
    });
    std::sort(heaviest.begin(), heaviest.end());
    Hands hands{all_};
    Mask left = out_;
    for (const auto& [weight, node] : heaviest) {
      left &= ~bit_of(node);
      Hands next;
      for (Hand& hand : all_without(hands, node)) {
        if (can_drop_enough(hand, left | rest, count(left) + outs_))
          next.push_back(std::move(hand));
      }
      hands = std::move(next);
      if (!effort_.use(1 + static_cast<int>(hands.size()))) return {};
    }
    return hands;
  }

  // Nothing more has to go: all of `rest` stays.
  bool finish(Mask rest) {
    const Mask answer = kept_ | rest;
    if (problem_.span && problem_.span->touched(answer) != problem_.span->count) return false;
    if (problem_.closeness == nullptr) {
      best_ = answer;
      return true;
    }
    const std::int64_t total = problem_.closeness->total(answer);
    if (total > limit_) {
      next_limit_ = std::min(next_limit_, total);
      return false;
    }
    best_ = answer;
    if (improve_) limit_ = total - 1;
    return !improve_;
  }

  // Every hand with the node given up by every party that can do without it.
  Hands all_without(const Hands& hands, int node) {
    Hands next;
    for (const Hand& hand : hands) {
      Hands choices;
      for (std::size_t party = 0; party < hand.has.size(); ++party) {
        const auto cost = cost_of(hand, party, node);
        if (!cost) continue;
        if (*cost == 0) choices.clear();  // nobody else needs to
        choices.push_back(without(hand, party, node));
        if (*cost == 0) break;
      }
      std::move(choices.begin(), choices.end(), std::back_inserter(next));
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    drop_dominated(next);
    return next;
  }

  // A hand that has no more of anything than another one is not worth keeping.
  void drop_dominated(Hands& hands) {
    if (hands.size() < 2) return;
    effort_.use(static_cast<int>(std::min<std::size_t>(hands.size() * hands.size() / 32, 1 << 20)));
    Hands kept;
    for (std::size_t i = 0; i < hands.size(); ++i) {
      bool dominated = false;
      for (std::size_t j = 0; j < hands.size() && !dominated; ++j) {
        dominated =
            i != j && dominates(hands[j], hands[i]) && (j < i || !dominates(hands[i], hands[j]));
      }
      if (!dominated) kept.push_back(hands[i]);
    }
    hands = std::move(kept);
  }

  bool dominates(const Hand& one, const Hand& other) const {
    for (std::size_t i = 0; i < one.slack.size(); ++i) {
      if (one.slack[i] < other.slack[i]) return false;
    }
    for (std::size_t party = 0; party < one.has.size(); ++party) {
      const Mask shared = problem_.parties[party].shared_nodes();
      if ((other.has[party] & shared & ~one.has[party]) != 0) return false;
    }
    return true;
  }

  std::size_t first_stock(std::size_t party) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < party; ++i) first += problem_.parties[i].stocks().size();
    return first;
  }

  // How much of its slack the node would cost a party, in parts of 2^20. No value: it
  // cannot do without. 0: it never misses it.
  std::optional<std::int64_t> cost_of(const Hand& hand, std::size_t party, int node) const {
    if ((problem_.parties[party].required() & bit_of(node)) != 0) return std::nullopt;
    const std::size_t first = first_stock(party);
    const auto& stocks = problem_.parties[party].stocks();
    std::int64_t worst = (problem_.parties[party].shared_nodes() & bit_of(node)) != 0 ? 1 : 0;
    for (std::size_t i = 0; i < stocks.size(); ++i) {
      const std::int64_t loss = stocks[i].loss(hand.has[party], node);
      const std::int64_t slack = hand.slack[first + i];
      if (loss > slack) return std::nullopt;
      if (loss == 0) continue;
      const double part = static_cast<double>(loss) / static_cast<double>(slack);
      worst = std::max(worst, 1 + static_cast<std::int64_t>(part * (1 << 20)));
    }
    return worst;
  }

  Hand without(const Hand& before, std::size_t party, int node) const {
    Hand hand = before;
    const std::size_t first = first_stock(party);
    const auto& stocks = problem_.parties[party].stocks();
    for (std::size_t i = 0; i < stocks.size(); ++i) {
      hand.slack[first + i] -= stocks[i].loss(hand.has[party], node);
    }
    // Who gave up what no longer matters where nothing is shared; equal hands should be.
    const Mask shared = problem_.parties[party].shared_nodes();
    hand.has[party] &= ~(bit_of(node) & shared);
    return hand;
  }

  // The nodes of `rest` that a single party cannot do without, given that others must go
  // as well: even with the lightest of these it would lose too much.
  Mask must_stay(const Hand& hand, Mask rest) const {
    Mask stay = rest & problem_.parties.front().required();
    for (std::size_t i = 0; i < hand.slack.size(); ++i) {
      const Party::Stock& stock = problem_.parties.front().stocks()[i];
      const auto lightest = stock.lightest(rest, outs_);
      for_each_node(rest & ~stay, [&](int node) {
        const std::int64_t own = stock.alone[static_cast<std::size_t>(node)];
        const bool is_one = (lightest.nodes & bit_of(node)) != 0;
        if (lightest.sum - (is_one ? own : lightest.heaviest) + own > hand.slack[i]) {
          stay |= bit_of(node);
        }
      });
    }
    return stay;
  }

  // Those that it must do without, because without any other it would lose too much.
  Mask must_go(const Hand& hand, Mask rest) const {
    Mask go = 0;
    for (std::size_t i = 0; i < hand.slack.size(); ++i) {
      const Party::Stock& stock = problem_.parties.front().stocks()[i];
      const auto lightest = stock.lightest(rest, outs_);
      for_each_node(lightest.nodes, [&](int node) {
        const std::int64_t own = stock.alone[static_cast<std::size_t>(node)];
        if (lightest.sum - own + lightest.next > hand.slack[i]) go |= bit_of(node);
      });
    }
    return go;
  }

  // Whether the parties together could do without `outs` nodes of `rest`, if each could
  // always give up its lightest ones.
  bool can_drop_enough(const Hand& hand, Mask rest, int outs) const {
    int sum = 0;
    std::size_t at = 0;
    for (const Party& party : problem_.parties) {
      const Mask free = rest & ~party.required();
      int most = count(free);
      for (const Party::Stock& stock : party.stocks()) {
        most = std::min(most, stock.most_droppable(free, hand.slack[at++], most));
      }
      sum += most;
      if (sum >= outs) return true;
    }
    return false;
  }

  // Whether the right number of sockets can still be touched by the right number of nodes
  // in a way that gives enough of each stock taken alone.
  bool can_span(Mask fixed, Mask rest) const {
    if (!problem_.span) return true;
    const Mask kept = kept_ | fixed;
    const Span& span = *problem_.span;
    if (span.touched(kept) > span.count || span.touched(kept | rest) < span.count) return false;
    const auto& stocks = problem_.parties.front().stocks();
    return std::all_of(stocks.begin(), stocks.end(), [&](const Party::Stock& stock) {
      return span.richest(stock, kept, rest, ins_ - count(fixed)) >= stock.needed;
    });
  }

  bool is_close_enough(Mask fixed, Mask rest) {
    if (problem_.closeness == nullptr) return true;
    const std::int64_t bound = problem_.closeness->bound(kept_ | fixed, rest, ins_ - count(fixed));
    if (bound <= limit_) return true;
    next_limit_ = std::min(next_limit_, bound);
    return false;
  }

  // Two ways to come here with equal keys have the same future.
  std::vector<std::int64_t> key_of(Mask rest, const Hands& hands) const {
    std::vector<std::int64_t> key{static_cast<std::int64_t>(rest)};
    key.push_back(is_plain() ? ins_ : static_cast<std::int64_t>(kept_));
    for (const Hand& hand : hands) {
      for (const Mask has : hand.has) key.push_back(static_cast<std::int64_t>(has));
      key.insert(key.end(), hand.slack.begin(), hand.slack.end());
    }
    return key;
  }

  const SearchProblem& problem_;
  Effort& effort_;
  Hand all_;  // before anything is left out
  Mask kept_ = 0;
  Mask out_ = 0;
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
  const bool was_spent = effort.spent;
  auto found = Search(problem, effort).run();
  if (found || !effort.spent || was_spent || problem.closeness == nullptr) return found;
  // No time to find the closest nodes: any that do are better than none.
  SearchProblem anywhere = problem;
  anywhere.closeness = nullptr;
  Effort more{.left = kEffortAnywhere};
  return Search(anywhere, more).run();
}

std::optional<int> narrowest(const Party& party, Effort& effort) {
  const int most = count(party.within());
  if (most == 0 || !party.admits(party.within())) return std::nullopt;
  for (int size = std::max(1, count(party.required())); size < most; ++size) {
    const SearchProblem problem{.parties = {party}, .pool = party.within(), .size = size};
    if (find_best(problem, effort)) return size;
  }
  return most;
}

}  // namespace corehold
