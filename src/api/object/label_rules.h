// SPDX-License-Identifier: Apache-2.0
//
// What may be the key and the value of a label, with the texts the Kubernetes API has for
// what may not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corehold {

// Empty when it is right. A key is a name, optionally after a DNS name and a slash.
std::vector<std::string> label_key_problems(std::string_view key);
std::vector<std::string> label_value_problems(std::string_view value);

}  // namespace corehold
