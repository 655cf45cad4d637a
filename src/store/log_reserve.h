// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the disk that belong to the log of a database before they are written: behind its
// end, so that nobody who reads the log sees them. A disk that others have filled does not keep
// the database from growing into its reserve.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

class LogReserve {
 public:
  // `path` is the log, which must exist; otherwise, and on file systems that cannot set blocks
  // aside, there is no reserve and ensure() always succeeds.
  explicit LogReserve(const std::string& path);

  // Sets blocks aside for that many bytes behind the end of the log. Fails with kIo and ENOSPC
  // when the disk has too few.
  Result<void> ensure(std::uint64_t bytes);

  // What was set aside was cut off together with the log.
  void forget() { end_ = 0; }

 private:
  std::string path_;
  Descriptor file_;
  std::uint64_t end_ = 0;  // blocks are set aside up to here
};

}  // namespace corehold
