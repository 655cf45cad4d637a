// SPDX-License-Identifier: Apache-2.0
//
// A lock on a file that the kernel gives up when its holder ends, however that happens.
// The file says who holds it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

class FileLock {
 public:
  // Creates the file if need be (mode 0644) and writes the caller's pid into it. The file
  // stays when the lock goes; children that exec do not inherit it.
  //
  // Fails with kConflict when another process has it, naming its pid, and with kIo when
  // the file cannot be opened, is no regular file or belongs to another user than the
  // caller: anybody may create files where such locks lie.
  static Result<FileLock> take(const std::string& path);

 private:
  explicit FileLock(std::unique_ptr<Descriptor> file) : file_(std::move(file)) {}

  std::unique_ptr<Descriptor> file_;  // never null but for a lock that was moved from
};

}  // namespace corehold
