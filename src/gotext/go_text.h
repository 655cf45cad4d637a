// SPDX-License-Identifier: Apache-2.0
//
// JSON values in messages, as the Kubernetes API server prints them: the notation of Go's
// fmt for maps and slices. Operators and tests search for these texts.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace corehold {

// "map[image:x name:b]", "[1 2]", "<nil>"; keys sorted, strings bare. What would be longer
// than a person reads (kMaxShownText bytes) is cut and ends in "...".
std::string go_text(const boost::json::value& value);
inline constexpr std::size_t kMaxShownText = 8192;

// What Go's JSON decoder calls the type: "object", "array", "string", "number", "bool".
std::string_view go_json_type(const boost::json::value& value);
// What Go calls the type a JSON value is read into: "map[string]interface {}", "int64", ...
std::string_view go_type(const boost::json::value& value);

}  // namespace corehold
