// SPDX-License-Identifier: Apache-2.0
//
// The target of a request taken apart: "/api/v1/pods?limit=5".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace corehold {

struct HttpTarget {
  std::vector<std::string> path{};             // decoded: {"api", "v1", "pods"}
  std::map<std::string, std::string> query{};  // decoded; of one given twice the last counts

  // Fails with kInvalid for a target that is no path or no UTF-8, and for bad percent signs.
  // Slashes that are doubled or at the end are ignored.
  static Result<HttpTarget> parse(std::string_view text);

  // "" when it is not there.
  std::string parameter(const std::string& name) const;
  // "true", "1" and a name without value are true, as the Kubernetes API has it.
  Result<bool> flag(const std::string& name) const;
  // Whole and not negative.
  Result<std::optional<std::int64_t>> number(const std::string& name) const;
};

}  // namespace corehold
