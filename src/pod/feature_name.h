// SPDX-License-Identifier: Apache-2.0
//
// What the name of a node's declared feature looks like, for the API, which refuses others
// in status.declaredFeatures, and for the library of features.
#pragma once

#include <cstddef>
#include <string_view>

namespace corehold {

// Longest name of a feature, in characters.
inline constexpr std::size_t kMaxFeatureName = 253;

// What is wrong with a name, in the API server's words; "" for one that a node may declare:
// upper camel case, parts after "/" may begin with a small letter, not longer than
// kMaxFeatureName.
std::string_view feature_name_problem(std::string_view name);

}  // namespace corehold
