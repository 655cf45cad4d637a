// SPDX-License-Identifier: Apache-2.0
//
// The reference page of the configuration, made of the tables that also read it.
#pragma once

#include <string>

namespace corehold {

// docs/config.md, in Markdown.
std::string reference_page();

}  // namespace corehold
