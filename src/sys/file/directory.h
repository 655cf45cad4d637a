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

// Makes it for its owner alone (0700), also when it is there with another mode; missing
// parents are made as usual (0755).
Result<void> make_private_directory(const std::string& path);

enum class Leaf { kDirectory, kFile };

// Makes what is missing of DIRECTORY/BELOW, and never by way of a link below DIRECTORY: that
// fails. A file is made empty; what is there stays as it is.
Result<void> make_inside(const std::string& directory, const std::string& below, Leaf leaf);

// Removes it and all that is in it, however deep; links are not followed and nothing of another
// file system is touched (that fails with EBUSY). What is not there is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace corehold
