// SPDX-License-Identifier: Apache-2.0
//
// A look at a synthetic description before hwloc sees it. hwloc takes minutes for a
// million CPUs, aborts on some interleavings, reads "010" as eight and drops a list of
// indexes it does not like without a word; this check refuses all of those by name.
//
//   description = ["(" attributes ")"] { level | "[" name ["(" attributes ")"] "]" }
//   level       = [name ":"] count ["(" attributes ")"]     count: decimal, no leading 0
//   attributes  = key "=" value, separated by one space     keys as in hwloc
//   indexes     = a list of distinct numbers as long as the level is wide ("0,2,1,3"),
//                 loops ("2*4:1*2"), or names of levels ("core:pu")
//
// What the names mean, and which may follow which, is hwloc's to judge.
#pragma once

#include <string_view>

#include "base/result.h"

namespace corehold {

// Fails with kInvalid, quoting the item; with kUnsupported when there would be more
// than 4,096 CPUs or 64 NUMA nodes. Takes time linear in the text.
Result<void> check_synthetic(std::string_view text);

}  // namespace corehold
