// SPDX-License-Identifier: Apache-2.0
//
// What an unquoted word in YAML means, by the rules of the YAML reader that
// Kubernetes uses (YAML 1.1 with 1.2's numbers): yes is true, 0x10 and 020 are
// 16, 1_000 is 1000, ~ is null, dates stay texts.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

// The value of a plain (unquoted) scalar. Fails with kInvalid for infinities and
// not-a-number, which JSON cannot hold.
Result<boost::json::value> resolve_plain(std::string_view text);

// The value of any scalar with the tag that yaml-cpp reports: "!" for a quoted one, "?"
// or none for a plain one, or what was written. Fails with kInvalid for a tag that has
// no meaning in JSON, and for one that its text contradicts (!!int x).
Result<boost::json::value> resolve_scalar(const std::string& tag, std::string_view text);

// The name of a field whose key was written so: numbers and booleans become text.
Result<std::string> resolve_key(const std::string& tag, std::string_view text);

}  // namespace corehold
