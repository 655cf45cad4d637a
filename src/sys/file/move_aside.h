// SPDX-License-Identifier: Apache-2.0
//
// Putting damaged files out of the way without losing them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace corehold {

// Renames each file that is there to itself with ".corrupt-20261116T050000Z" (a number
// behind it if that is taken) and returns the new names. Nothing is ever replaced. Fails
// with kIo; files before the failing one have been moved then.
Result<std::vector<std::string>> move_aside(const std::vector<std::string>& files,
                                            std::chrono::milliseconds now);

}  // namespace corehold
