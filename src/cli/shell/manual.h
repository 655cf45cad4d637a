// SPDX-License-Identifier: Apache-2.0
//
// corehold.1, the manual page, from the definition of the command line. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/shell/command_tree.h"

namespace corehold {

// troff with the macros of man(7): every command with its options, and what their help says.
std::string manual_page(const CommandTree& root, std::string_view version);

// Text for troff: what it would take for a request or an escape is made harmless.
std::string troff_text(std::string_view text);

}  // namespace corehold
