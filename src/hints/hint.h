// SPDX-License-Identifier: Apache-2.0
//
// A Hint: NUMA nodes on which a request could be met, and whether that is as good as it
// gets. A HintFamily holds all hints of one resource without writing them down: on n
// nodes there can be 2^n of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"

namespace corehold {

struct Hint {
  std::optional<NodeSet> nodes{};  // no value: any will do
  bool preferred = false;

  bool operator==(const Hint&) const = default;
};

// So much of a resource, within reach of whoever has any of the nodes.
struct Pile {
  NodeSet nodes{};
  std::int64_t amount = 0;  // not negative
};

// At least `amount` must be within reach.
struct Need {
  std::vector<Pile> piles{};
  std::int64_t amount = 0;
};

// All sets of nodes that contain `required`, lie in `within` and meet every need. Any
// larger set that lies in `within` then does so too.
struct Threshold {
  NodeSet required{};
  NodeSet within{};
  std::vector<Need> needs{};
};

// Which sets are preferred: those of `size` nodes and, where `sockets` is not 0, those
// that touch so many of `socket_nodes`, the NUMA nodes of each socket.
struct Preference {
  int size = 0;
  int sockets = 0;
  std::vector<NodeSet> socket_nodes{};
};

// The hints of one resource: some listed, and all that a threshold admits. None of
// either: the request cannot be met anywhere.
struct HintFamily {
  std::vector<Hint> listed{};
  std::optional<Threshold> threshold{};
  Preference preference{};  // for the sets of the threshold
};

// What one provider says of one resource.
struct ResourceHints {
  std::string resource{};              // "cpu", "memory", "example.com/nic"
  std::optional<HintFamily> family{};  // no value: it does not care where
};

}  // namespace corehold
