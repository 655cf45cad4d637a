// SPDX-License-Identifier: Apache-2.0
//
// Variables in commands, arguments and values, as Kubernetes puts them in.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace corehold {

// "$(NAME)" becomes the variable's value, or stays when there is none; "$$" becomes "$" and
// so keeps what follows from being put in. Values are not looked at again.
std::string expand(std::string_view text, const std::map<std::string, std::string>& variables);

}  // namespace corehold
