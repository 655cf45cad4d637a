// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a text that is no JSON, in the words of Go's decoder: what clients of a
// Kubernetes API server are used to read.
#pragma once

#include <string>
#include <string_view>

namespace corehold {

// "invalid character 'o' in literal null (expecting 'u')"; empty for what is JSON. Nesting
// and characters that are no UTF-8 are not its matter.
std::string go_json_problem(std::string_view text);

}  // namespace corehold
