// SPDX-License-Identifier: Apache-2.0
//
// Whether a call failed because the disk, or somebody's share of it, has no room.
#pragma once

#include <cerrno>

#include "base/result.h"

namespace corehold {

inline bool is_disk_full(int number) { return number == ENOSPC || number == EDQUOT; }
inline bool is_disk_full(const Error& error) { return is_disk_full(error.number); }

}  // namespace corehold
