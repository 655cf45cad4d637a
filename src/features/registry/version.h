// SPDX-License-Identifier: Apache-2.0
//
// Version: a version of Kubernetes, as a component or a node says it ("v1.37.0-rc.1",
// "1.36"). A value. Versions compare by full semantic-version order: numbers first, then
// a pre-release is below its release; build metadata ("+build5") does not count.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace corehold {

class Version {
 public:
  // Accepts an optional "v", two or three numbers (a missing patch is 0), an optional
  // "-pre.release" and "+build". Fails with kInvalid, naming the text and the part.
  static Result<Version> parse(std::string_view text);

  // As it was given.
  const std::string& str() const { return text_; }

  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == 0; }

 private:
  Version() = default;

  std::string text_{};
  std::vector<std::string> numbers_{};      // three, without leading zeros
  std::vector<std::string> pre_release_{};  // identifiers; empty: a release
};

}  // namespace corehold
