// SPDX-License-Identifier: Apache-2.0
//
// Where the next page of a list begins, as text that clients give back unread. The format is
// that of Kubernetes: base64 of a little JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

struct ContinueToken {
  // Of the list that is being read; no pages differ in age. kNow: what there is by then.
  static constexpr std::int64_t kNow = -1;

  std::int64_t version = kNow;
  std::string start{};  // the first key that may be in the page, of those of the list

  bool operator==(const ContinueToken&) const = default;
};

std::string to_text(const ContinueToken& token);

// Fails with kInvalid and the text of the API server for what to_text() cannot have given.
Result<ContinueToken> parse_continue_token(std::string_view text);

}  // namespace corehold
