// SPDX-License-Identifier: Apache-2.0
//
// Files that this process may still open. What lasts long and comes in any number asks first, so
// that clients can be answered and files written whatever there is.
#pragma once

#include "base/result.h"

namespace corehold {

// Fails with kIo and what to do when fewer files are left than work that ends by itself needs: 64,
// or half of what the process may open if that is less.
Result<void> check_spare_files();

}  // namespace corehold
