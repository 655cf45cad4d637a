// SPDX-License-Identifier: Apache-2.0
//
// The Linux list format, "0-3,8,10-11", as text and as ranges. Decoding accepts
// exactly what the kubelet accepts, numbers of any size included; what a set can
// hold is the business of IdSet::parse, one level up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace corehold {

// The numbers first to last, both included.
struct NumberRange {
  std::int64_t first;
  std::int64_t last;

  bool operator==(const NumberRange&) const = default;
};

// Ascending, disjoint and not adjacent. Order, overlap, "+1" and "007" are fine in
// `text`; spaces, empty items, negative single numbers and reversed ranges fail
// with kInvalid, naming the item. The empty text is the empty list.
Result<std::vector<NumberRange>> parse_list(std::string_view text);

// REQUIRES: ranges as parse_list returns them. A run of two or more is "a-b".
std::string format_list(const std::vector<NumberRange>& ranges);

}  // namespace corehold
