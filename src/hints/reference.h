// SPDX-License-Identifier: Apache-2.0
//
// Hints and merging the slow and plain way, for tests: every subset of the nodes is
// tried, every combination of hints is merged and compared with the best so far, by the
// kubelet's rules. What list_hints and merge must equal.
#pragma once

#include <vector>

#include "hints/hint.h"
#include "hints/merge.h"

namespace corehold {

// All hints of a family on these nodes, in any order. REQUIRES: few nodes.
std::vector<Hint> reference_list(const HintFamily& family, const NodeSet& nodes);

// A list for each resource; no value where it does not care.
using HintLists = std::vector<std::optional<std::vector<Hint>>>;

// How many combinations there are, or `most` if there are more.
std::int64_t count_combinations(const HintLists& lists, std::int64_t most);

// Whether the kubelet would put the candidate in the place of its best so far, both being
// sets with nodes in them. `wanted`: how many nodes the most demanding resource needs at
// least.
bool replaces(const NumaMap& machine, int wanted, bool closest, const Hint& current,
              const Hint& candidate);

Merged reference_merge(const NumaMap& machine, const HintLists& lists,
                       const TopologyOptions& options);

// The same answer with the different intersections collected resource by resource, for
// machines on which the combinations are too many to walk.
Merged reference_fold(const NumaMap& machine, const HintLists& lists,
                      const TopologyOptions& options);

}  // namespace corehold
