// SPDX-License-Identifier: Apache-2.0
//
// What hwloc's XML import would mend without a word, and must be an error instead: a
// CPU in two NUMA nodes (hwloc trims the nodes) or in two places (it drops one). A
// scan of the tags, not an XML parser: whether the text is XML is hwloc's to judge.
#pragma once

#include <string_view>

#include "base/result.h"

namespace corehold {

// Fails with kInvalid, naming the CPU or NUMA node. Text without tags passes.
Result<void> check_xml(std::string_view text);

}  // namespace corehold
