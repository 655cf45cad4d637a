// SPDX-License-Identifier: Apache-2.0
//
// Variables in commands, arguments and values, as Kubernetes puts them in.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// One string of a command or its environment, with the zero byte at its end: more is refused by the
// kernel (MAX_ARG_STRLEN).
inline constexpr std::size_t kMostStringBytes = std::size_t{128} << 10U;

// "$(NAME)" becomes the variable's value, or stays when there is none; "$$" becomes "$" and
// so keeps what follows from being put in. Values are not looked at again. Fails with
// kInvalid when the result is longer than the kernel takes for one word of a command or its
// environment: variables that name each other twice grow without end.
Result<std::string> expand(std::string_view text,
                           const std::map<std::string, std::string>& variables);

// How long the result would be, whatever its length: `sizes` are those of the values. Makes no
// copy of a value.
std::size_t expanded_size(std::string_view text, const std::map<std::string, std::size_t>& sizes);

}  // namespace corehold
