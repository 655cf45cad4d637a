// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text, in base 64 with padding (RFC 4648).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

std::string to_base64(std::string_view bytes);

// Fails with kInvalid for what is not. Spaces and line ends do not count.
Result<std::string> from_base64(std::string_view text);

}  // namespace corehold
