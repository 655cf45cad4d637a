// SPDX-License-Identifier: Apache-2.0
//
// What the query of a list or a watch asks for, checked as the Kubernetes API checks it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/api_result.h"
#include "api/serve/continue_token.h"
#include "api/serve/resource.h"
#include "api/serve/selector.h"

namespace corehold {

// Decoded names and values.
using QueryParameters = std::map<std::string, std::string>;

// Whether this is a watch rather than a list.
bool asks_for_watch(const QueryParameters& query);

struct ListOptions {
  enum class Match {
    kNewest,        // what there is now
    kAnyAge,        // the same, and limits are ignored: resourceVersion=0
    kNotOlderThan,  // now, if that is at least `version`
    kExact,         // what there was at `version`
  };

  std::string namespace_name{};  // "": all; from the path, so the caller's to fill
  Selector selector{};
  std::int64_t limit = 0;  // 0: none
  std::optional<ContinueToken> after{};
  Match match = Match::kNewest;
  std::uint64_t version = 0;
};

// Fails with the Status to answer: 400, 422.
ApiResult<ListOptions> list_options(const QueryParameters& query, Resource resource);

struct WatchOptions {
  std::string namespace_name{};  // "": all; from the path, so the caller's to fill
  Selector selector{};
  // After which change to begin. No value: now.
  std::optional<std::uint64_t> version{};
  bool initial_events = false;  // first what there is, as ADDED
  bool initial_mark = false;    // and then a bookmark that says that this was all
  bool bookmarks = false;       // from time to time
  std::optional<std::chrono::seconds> timeout{};
};

// Fails with the Status to answer: 400, 422, 500.
ApiResult<WatchOptions> watch_options(const QueryParameters& query, Resource resource);

}  // namespace corehold
