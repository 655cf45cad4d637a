// SPDX-License-Identifier: Apache-2.0
//
// Amounts of memory as Kubernetes writes them.
#pragma once

#include <cstdint>
#include <string>

namespace corehold {

// 4294967296 as "4Gi": the largest unit that loses nothing.
std::string bytes_text(std::int64_t bytes);

}  // namespace corehold
