// SPDX-License-Identifier: Apache-2.0
//
// A synthetic description, checked and made plain before hwloc sees it. hwloc takes
// minutes for a hundred thousand CPUs, aborts on some interleavings, reads "010" as
// eight and ignores without a word an `indexes` it does not understand. Here all of
// that is refused by name, and every `indexes` becomes a list of numbers.
//
//   description = ["(" attributes ")"] { level | "[" name ["(" attributes ")"] "]" }
//   level       = [name ":"] count ["(" attributes ")"]     count: decimal, no leading 0
//   attributes  = key "=" value, separated by one space     keys as in hwloc
//   indexes     = a list of distinct numbers as long as the level is wide ("0,2,1,3"),
//                 loops ("2*4:1*2": step*count), or names of levels, the one numbered
//                 fastest first ("core:pu": first all first threads, then all second)
//
// A name stands for one level (groups may repeat), and the last level is pu. What the
// names mean, and which may follow which, is otherwise hwloc's to judge.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// The same description for hwloc. Fails with kInvalid, quoting the item; with
// kUnsupported when there would be more than 4,096 CPUs or 64 NUMA nodes.
Result<std::string> normalize_synthetic(std::string_view text);

}  // namespace corehold
