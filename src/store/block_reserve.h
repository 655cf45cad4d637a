// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the disk that belong to a file before they are written: behind its end, so that nobody
// who reads the file sees them. A disk that others have filled does not keep the file from growing
// into its reserve.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

class BlockReserve {
 public:
  // The file must exist; otherwise, and on file systems that cannot set blocks aside, there is no
  // reserve and nothing fails.
  explicit BlockReserve(const std::string& path);

  // Sets blocks aside for that many bytes behind the end of the file. Fails with kIo and ENOSPC
  // when the disk has too few.
  Result<void> ensure(std::uint64_t bytes);

  // The same for the first `size` bytes of the file, whatever its end is.
  Result<void> ensure_size(std::uint64_t size);

  // What was set aside was cut off together with the content.
  void forget() { end_ = 0; }

 private:
  std::string path_;
  Descriptor file_;
  std::uint64_t end_ = 0;  // blocks are set aside up to here
};

}  // namespace corehold
