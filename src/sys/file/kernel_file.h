// SPDX-License-Identifier: Apache-2.0
//
// Files that the kernel answers for (/proc, /sys, cgroups): read whole, written in one
// call, because each write is a command. Errors as in file.h: "write /sys/a/b: EACCES".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// The content without the newline at its end. kNotFound also for a process that ended
// while it was being read.
Result<std::string> read_kernel_file(const std::string& path);

Result<void> write_kernel_file(const std::string& path, std::string_view text);

}  // namespace corehold
