// SPDX-License-Identifier: Apache-2.0
//
// A lock on a file that the kernel gives up when its holder ends, however that happens. The file
// says which process holds it. Whoever can open a file can lock it, so the file is open to its
// owner alone, in a directory that only its owner can write.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

class FileLock {
 public:
  // Creates the file if need be (mode 0600) and writes the caller's pid into it. The file stays
  // when the lock goes, and a file that is left is taken; children that exec do not inherit it.
  //
  // Fails with kConflict when another process has it, naming its pid, and with kIo when the file
  // cannot be opened, is no regular file, or when the directory belongs to another user than the
  // caller or root, or can be written by others: they could keep everybody from the lock.
  static Result<FileLock> take(const std::string& path);

  // The lock of version 0.1: a file of mode 0644, which may lie where anybody can create files.
  // Taken so that an agent of that version and this one keep each other off, and only where nobody
  // else can prevent it. No value: something of another user is there, or another user keeps it
  // from being locked; that is no obstacle.
  //
  // Fails with kConflict, naming the pid, when a process of root or of the caller's user holds it:
  // a lock for writing on a file that no other user can write.
  static Result<std::optional<FileLock>> take_public(const std::string& path);

 private:
  explicit FileLock(std::unique_ptr<Descriptor> file) : file_(std::move(file)) {}
  static Result<FileLock> holding(std::unique_ptr<Descriptor> file, const std::string& path);

  std::unique_ptr<Descriptor> file_;  // never null but for a lock that was moved from
};

}  // namespace corehold
