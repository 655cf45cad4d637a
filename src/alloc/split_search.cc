// SPDX-License-Identifier: Apache-2.0
#include "alloc/split_search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace corehold {
namespace {

// How the sum of squares changes when `given` groups leave a node with `left` CPUs.
std::int64_t change(int left, int given, int group_size) {
  const auto gone = static_cast<std::int64_t>(given) * group_size;
  return gone * gone - 2 * gone * left;
}

}  // namespace

SplitSearch::SplitSearch(const std::vector<SplitNode>& nodes, const SplitRequest& request,
                         int count)
    : nodes_(nodes),
      request_(request),
      count_(count),
      even_(request.count / count / request.group_size * request.group_size) {
  std::int64_t free = 0;
  for (const SplitNode& node : nodes) {
    free += node.free;
    squares_ += static_cast<std::int64_t>(node.free) * node.free;
  }
  left_ = free - request.count;
  const auto number = static_cast<std::int64_t>(nodes.size());
  mean_ = (2 * left_ * 1000 + number) / (2 * number);  // rounded half up
}

std::vector<SplitShare> SplitSearch::run() {
  start_from_largest();
  if (best_.empty()) return {};
  // Whatever scores no better than this comes too late; equal scores are still open.
  lowest_ = most_squares_with_score(best_score_, lowest_) + 1;
  best_score_ = kInfinite;
  chosen_.clear();
  choose_from(0, count_);
  return best_;
}

// Weighs the nodes with most free CPUs. When they cannot hold the request, no others
// can. With align_by_socket, those of each socket come first.
void SplitSearch::start_from_largest() {
  if (request_.align_by_socket) {
    std::set<int> sockets;
    for (const SplitNode& node : nodes_) sockets.insert(node.socket);
    sockets.erase(kSeveralSockets);
    for (const int socket : sockets) {
      choose_largest(socket);
      if (static_cast<int>(chosen_.size()) == count_) weigh_chosen();
    }
    in_one_socket_only_ = !best_.empty();
    if (in_one_socket_only_) return;
  }
  choose_largest(kSeveralSockets);
  weigh_chosen();
}

// The `count_` nodes with most free CPUs, of one socket or of all; fewer if there are
// not that many.
void SplitSearch::choose_largest(int socket) {
  chosen_.clear();
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    if (socket == kSeveralSockets || node_at(index).socket == socket) chosen_.push_back(index);
  }
  std::stable_sort(chosen_.begin(), chosen_.end(),
                   [this](int a, int b) { return node_at(a).free > node_at(b).free; });
  if (static_cast<int>(chosen_.size()) > count_) chosen_.resize(static_cast<std::size_t>(count_));
  std::sort(chosen_.begin(), chosen_.end());
}

void SplitSearch::choose_from(int first, int count) {
  if (best_score_ == 0 || !is_complete()) return;
  if (count == 0) {
    weigh_chosen();
    return;
  }
  for (int index = first; index + count <= static_cast<int>(nodes_.size()); ++index) {
    if (!request_.align_by_socket && node_at(index).free < even_) continue;
    chosen_.push_back(index);
    choose_from(index + 1, count - 1);
    chosen_.pop_back();
  }
}

bool SplitSearch::is_in_one_socket() const {
  const int socket = node_at(chosen_.front()).socket;
  return socket != kSeveralSockets && std::all_of(chosen_.begin(), chosen_.end(), [&](int index) {
           return node_at(index).socket == socket;
         });
}

void SplitSearch::weigh_chosen() {
  if (in_one_socket_only_ && !is_in_one_socket()) return;
  const int group = request_.group_size;
  int groups = 0;
  int even = even_;
  for (const int index : chosen_) {
    groups += node_at(index).free / group;
    even = std::min(even, node_at(index).free / group * group);
  }
  if (groups < request_.count / group) return;
  if (even < even_ && !request_.align_by_socket) return;
  candidate_.clear();
  std::int64_t squares = squares_;
  for (const int index : chosen_) {
    candidate_.push_back({.node = index, .even = even, .extra_groups = 0});
    squares += change(node_at(index).free, 1, even);
  }
  weigh_extras(squares, (request_.count - even * count_) / group);
}

// Tries the ways to place `groups` extra groups on the candidate. A subset of its
// nodes is served round-robin, one group a turn; larger subsets come first, equal
// ones in order. Only arrangements that differ are weighed.
void SplitSearch::weigh_extras(std::int64_t squares, int groups) {
  extras_.clear();
  if (groups == 0) {
    offer(squares);
    return;
  }
  for (std::size_t i = 0; i < candidate_.size(); ++i) {
    const int left = node_at(candidate_[i].node).free - candidate_[i].even;
    if (left < request_.group_size) continue;
    extras_.push_back(
        {.share = static_cast<int>(i), .left = left, .groups = left / request_.group_size});
  }
  if (lowest_ != kInfinite && squares + best_change(groups) >= lowest_) return;
  const int size = static_cast<int>(extras_.size());
  for (int count = size; count >= 1; --count) {
    for (Extra& extra : extras_) extra.given = 0;
    if (count >= groups) {
      // A subset larger than the groups gives from its first nodes only. New here are
      // the arrangements whose last giver has just enough nodes behind it.
      const int last = size - 1 - (count - groups);
      extra_at(last).given = 1;
      place_singles(squares + change_of(last, 1), 0, last, groups - 1);
    } else {
      subset_.clear();
      place_rounds(squares, 0, count, groups);
    }
  }
}

// One group from each of `count` nodes out of [first, end).
void SplitSearch::place_singles(std::int64_t squares, int first, int end, int count) {
  if (!is_complete()) return;
  if (count == 0) {
    offer(squares);
    return;
  }
  for (int index = first; index + count <= end; ++index) {
    extra_at(index).given = 1;
    place_singles(squares + change_of(index, 1), index + 1, end, count - 1);
    extra_at(index).given = 0;
  }
}

// Subsets of `count` nodes, fewer than there are groups: several rounds.
void SplitSearch::place_rounds(std::int64_t squares, int first, int count, int groups) {
  if (!is_complete()) return;
  if (count == 0) {
    serve_rounds(squares, groups);
    return;
  }
  for (int index = first; index + count <= static_cast<int>(extras_.size()); ++index) {
    subset_.push_back(index);
    place_rounds(squares, index + 1, count - 1, groups);
    subset_.pop_back();
  }
}

void SplitSearch::serve_rounds(std::int64_t squares, int groups) {
  ++weighed_;
  int able = 0;
  for (const int index : subset_) able += extra_at(index).groups;
  if (able < groups) return;
  for (Extra& extra : extras_) extra.given = 0;
  // As many rounds at once as nobody drops out in; the last, partial one singly.
  while (groups > 0) {
    int able_nodes = 0;
    int rounds = groups;
    for (const int index : subset_) {
      const int room = extra_at(index).groups - extra_at(index).given;
      if (room == 0) continue;
      ++able_nodes;
      rounds = std::min(rounds, room);
    }
    CHECK(able_nodes > 0);
    rounds = std::min(rounds, groups / able_nodes);
    for (const int index : subset_) {
      Extra& extra = extra_at(index);
      if (groups == 0) break;
      if (extra.given == extra.groups) continue;
      const int given = std::max(rounds, 1);
      extra.given += given;
      groups -= given;
    }
  }
  for (const int index : subset_) squares += change_of(index, extra_at(index).given);
  offer(squares);
}

std::int64_t SplitSearch::change_of(int index, int given) const {
  return change(extras_[static_cast<std::size_t>(index)].left, given, request_.group_size);
}

// The most by which `groups` extra groups can lower the sum of squares: always taking
// from the fullest node. No arrangement does better.
std::int64_t SplitSearch::best_change(int groups) const {
  const int group = request_.group_size;
  // Groups that leave a node until it has no more than `level` CPUs.
  const auto above = [group](int left, int level) {
    return left > level ? (left - level + group - 1) / group : 0;
  };
  const auto groups_above = [&](int level) {
    int sum = 0;
    for (const Extra& extra : extras_) sum += above(extra.left, level);
    return sum;
  };
  int high = 0;
  for (const Extra& extra : extras_) high = std::max(high, extra.left);
  // The lowest level down to which `groups` groups reach.
  int low = high - groups * group - 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (groups_above(middle) <= groups ? high : low) = middle;
  }
  std::int64_t total = 0;
  for (const Extra& extra : extras_) {
    const int given = above(extra.left, high);
    total += change(extra.left, given, group);
    groups -= given;
  }
  // What remains comes one each from nodes that stand exactly at the level.
  return total + groups * change(high, 1, group);
}

std::int64_t SplitSearch::score(std::int64_t squares) const {
  const auto number = static_cast<std::int64_t>(nodes_.size());
  const std::int64_t deviation =
      1'000'000 * squares - 2'000 * mean_ * left_ + number * mean_ * mean_;
  return std::llround(std::sqrt(static_cast<double>(deviation) / static_cast<double>(number)));
}

// The largest sum of squares that still has this score, which `squares` has.
std::int64_t SplitSearch::most_squares_with_score(std::int64_t best, std::int64_t squares) const {
  std::int64_t step = 1;
  while (score(squares + step) == best) step *= 2;
  std::int64_t most = squares;
  for (; step > 0; step /= 2) {
    if (score(most + step) == best) most += step;
  }
  return most;
}

void SplitSearch::offer(std::int64_t squares) {
  ++weighed_;
  if (squares >= lowest_) return;
  lowest_ = squares;
  const std::int64_t candidate_score = score(squares);
  if (candidate_score >= best_score_) return;
  best_score_ = candidate_score;
  best_ = candidate_;
  for (const Extra& extra : extras_) {
    best_[static_cast<std::size_t>(extra.share)].extra_groups = extra.given;
  }
}

}  // namespace corehold
