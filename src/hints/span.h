// SPDX-License-Identifier: Apache-2.0
//
// A Span: how many sockets an answer must touch, for align-by-socket.
#pragma once

#include <vector>

#include "hints/mask.h"
#include "hints/party.h"

namespace corehold {

struct Span {
  std::vector<Mask> sockets{};  // the NUMA nodes of each
  int count = 0;                // so many of them, no fewer and no more

  int touched(Mask mask) const;
  // The most of a stock within reach of `kept` and `more` nodes of `rest` that touch the
  // right number of sockets together; -1: none do. Too much rather than too little where
  // piles are shared or sockets overlap.
  std::int64_t richest(const Party::Stock& stock, Mask kept, Mask rest, int more) const;
};

}  // namespace corehold
