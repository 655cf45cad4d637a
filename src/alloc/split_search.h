// SPDX-License-Identifier: Apache-2.0
//
// SplitSearch: the best way to split a request over k of the NUMA nodes, the first
// one where several are equally good. The score of a way is the standard deviation
// of the free CPUs each node has left, in thousandths. What is left in all is the
// same for every way, so the score grows with the sum of squares of what each node
// has left: the search works on that sum, and starts from a way that is good already
// (the nodes with most free), so that almost all others are passed over at once.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "alloc/numa_split.h"

namespace corehold {

class SplitSearch {
 public:
  // REQUIRES: at most kMaxWeighedNodes nodes; 1 <= count <= nodes.size(). Both
  // arguments must outlive the search.
  SplitSearch(const std::vector<SplitNode>& nodes, const SplitRequest& request, int count);

  // Empty when no combination can hold the request evenly.
  std::vector<SplitShare> run();

  // Whether run() has weighed all it had to; false when there were too many ways.
  bool is_complete() const { return weighed_ <= kMaxWeighings; }

 private:
  // About ten milliseconds' worth.
  static constexpr int kMaxWeighings = 100'000;
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

  // A node considered for the extra groups that do not divide evenly.
  struct Extra {
    int share = 0;   // index into the candidate
    int left = 0;    // free CPUs after the even share
    int groups = 0;  // whole groups in `left`
    int given = 0;   // groups taken in the arrangement being weighed
  };

  const SplitNode& node_at(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  Extra& extra_at(int index) { return extras_[static_cast<std::size_t>(index)]; }

  void start_from_largest();
  void choose_largest(int socket);
  void choose_from(int first, int count);
  bool is_in_one_socket() const;
  void weigh_chosen();
  void weigh_extras(std::int64_t squares, int groups);
  void place_singles(std::int64_t squares, int first, int end, int count);
  void place_rounds(std::int64_t squares, int first, int count, int groups);
  void serve_rounds(std::int64_t squares, int groups);
  std::int64_t change_of(int index, int given) const;
  std::int64_t best_change(int groups) const;
  std::int64_t score(std::int64_t squares) const;
  std::int64_t most_squares_with_score(std::int64_t score, std::int64_t squares) const;
  void offer(std::int64_t squares);

  const std::vector<SplitNode>& nodes_;
  const SplitRequest& request_;
  const int count_;           // nodes in a combination
  const int even_;            // CPUs each of them gives, unless align_by_socket lowers it
  std::int64_t squares_ = 0;  // sum over the free CPUs before anything is taken
  std::int64_t left_ = 0;     // CPUs left in all
  std::int64_t mean_ = 0;     // per node, in thousandths

  // The way being weighed.
  std::vector<int> chosen_;
  std::vector<SplitShare> candidate_;
  std::vector<Extra> extras_;
  std::vector<int> subset_;

  // The best so far.
  bool in_one_socket_only_ = false;  // align_by_socket, and one socket can do it
  std::int64_t lowest_ = kInfinite;  // no sum of squares from here on can do better
  std::int64_t best_score_ = kInfinite;
  std::vector<SplitShare> best_;
  int weighed_ = 0;
};

}  // namespace corehold
