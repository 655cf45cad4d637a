// SPDX-License-Identifier: Apache-2.0
//
// YAML text to JSON values, as Kubernetes tools read it: a stream of documents,
// anchors, aliases and merge keys resolved. The adapter for yaml-cpp: nothing
// throws, and what a small text can make large (aliases, nesting) is bounded.
#pragma once

#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

// Anchors and aliases may copy this many values in all; a YAML bomb wants billions.
inline constexpr std::size_t kMaxAliasedValues = 100'000;

// Longer texts are refused before they are read: yaml-cpp needs seconds for them, and
// JSON has no such limit.
inline constexpr std::size_t kMaxYamlBytes = 4 << 20;

// The documents of a stream, empty ones left out. Fails with kInvalid, naming the line,
// for what is not YAML, invalid UTF-8, control characters, a key given twice, a key that
// is not a scalar, nesting deeper than kMaxNesting (pod_json.h), and the bounds above.
Result<std::vector<boost::json::value>> parse_yaml(std::string_view text);

}  // namespace corehold
