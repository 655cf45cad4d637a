// SPDX-License-Identifier: Apache-2.0
//
// Directories: made with their parents, listed, removed with all they hold. Errors as in
// file.h.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace corehold {

// The names in it, sorted, without "." and "..".
Result<std::vector<std::string>> entries_of(const std::string& path);

// Makes it and every missing parent; one that is there stays as it is.
Result<void> make_directories(const std::string& path, mode_t mode);

// Removes it and all that is in it; links are not followed and nothing of another file
// system is touched (that fails with EBUSY). What is not there is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace corehold
