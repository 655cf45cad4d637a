// SPDX-License-Identifier: Apache-2.0
//
// YAML text to JSON values, as Kubernetes tools read it: a stream of documents,
// anchors, aliases and merge keys resolved. The adapter for yaml-cpp: nothing
// throws, and what a small text can make large (aliases, nesting) is bounded.
#pragma once

#include <string>
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

// Where a value and what is in it stand, in the shape of the value itself.
struct YamlLines {
  int line = 1;                    // from 1; of its key, where it has one
  std::vector<YamlLines> inner{};  // of a list's items or an object's members, in order
};

struct YamlDocument {
  boost::json::value value{};
  YamlLines lines{};
};

struct YamlProblem {
  int line = 0;  // 0: of no line in particular
  std::string message{};
};

struct YamlStream {
  std::vector<YamlDocument> documents{};  // empty ones left out
  std::vector<YamlProblem> problems{};
};

// The same with lines, and for telling everything that is wrong at once: of a key given
// twice the first value counts, and reading goes on. After any other problem there is
// nothing more, and the document it is in is missing. An alias stands where its anchor is.
YamlStream parse_yaml_with_lines(std::string_view text);

}  // namespace corehold
