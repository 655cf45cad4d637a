// SPDX-License-Identifier: Apache-2.0
//
// Variables in commands, arguments and values, as Kubernetes puts them in.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// "$(NAME)" becomes the variable's value, or stays when there is none; "$$" becomes "$" and
// so keeps what follows from being put in. Values are not looked at again. Fails with
// kInvalid when the result is longer than the kernel takes for one word of a command or its
// environment: variables that name each other twice grow without end.
Result<std::string> expand(std::string_view text,
                           const std::map<std::string, std::string>& variables);

}  // namespace corehold
