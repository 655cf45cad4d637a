// SPDX-License-Identifier: Apache-2.0
//
// The flat form of a checkpoint that the checksum and the encoder both read: rows
// of views into strings that live elsewhere. Internal to the checkpoint code.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cpuset/list_format.h"

namespace corehold {

struct SetRow {
  std::string_view key;  // a container's name
  std::string_view set;
};

// One pod's rows are rows[first] to rows[first + count - 1] of its table.
struct PodRow {
  std::string_view pod;
  std::size_t first = 0;
  std::size_t count = 0;
  bool is_nil = false;  // JSON null instead of an object
};

// Pods and containers in byte order.
struct SetTable {
  std::vector<PodRow> pods{};
  std::vector<SetRow> rows{};
  bool is_nil = false;

  bool empty() const { return pods.empty(); }
};

struct PodSetRow {
  std::string_view pod;
  std::string_view set;
  std::vector<NumberRange> cpus;
};

struct PodSetTable {
  std::vector<PodSetRow> pods{};
  bool is_nil = false;
};

struct FlatTable {
  std::vector<SetRow> rows{};
  bool is_nil = false;
};

}  // namespace corehold
