// SPDX-License-Identifier: Apache-2.0
//
// Questions about a HintFamily that need no list of its hints, and that list for those
// who want to see it.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "hints/hint.h"
#include "hints/mask.h"
#include "hints/span.h"

namespace corehold {

// The sockets of a preference, for sets as words.
Span span_of(const Preference& preference);

// Whether a set that a threshold admits is a preferred one.
bool is_preferred(const Preference& preference, Mask mask);

// How much of a need is within reach of the nodes.
std::int64_t reach(const Need& need, const NodeSet& nodes);

bool contains(const Threshold& threshold, const NodeSet& nodes);
// No value: `nodes` is no hint of the family. Otherwise whether it is a preferred one.
std::optional<bool> preference_for(const HintFamily& family, const NodeSet& nodes);

// The size of the smallest set that the threshold admits; no value: it admits none. The
// answer is exact unless finding it would be a puzzle (search.h); then it may be too large.
std::optional<int> narrowest(const Threshold& threshold);

// Whether the family has any hint at all.
bool is_empty(const HintFamily& family);

// The hints, by size and then by their lists of node ids, and no more than `most` of
// them. There can be 2^n: bound `most` where the number of nodes is not known to be small.
// On more than 20 nodes the listing ends after a fixed number of steps, whether or not all
// hints, or any, have been come to.
std::vector<Hint> list_hints(const HintFamily& family,
                             std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace corehold
