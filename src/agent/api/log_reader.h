// SPDX-License-Identifier: Apache-2.0
//
// Reads a container's log piece by piece, so that a long log does not hold up the loop: across
// the rotated files from the oldest on, and further while the log grows and is rotated.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "runtime/monitor/log_file.h"
#include "sys/descriptor.h"

namespace corehold {

class LogReader {
 public:
  LogReader(std::string path, const LogQuery& query) : path_(std::move(path)), query_(query) {}

  struct Piece {
    std::string text{};
    bool more = false;     // ask again at once; false: that is all for now
    bool is_over = false;  // `query.limit` is reached: that is all for ever
  };
  // The next piece; its text may be empty although there is more. A log that is not there
  // is empty. `query.tail` counts the lines of all streams. Fails with kIo.
  Result<Piece> next();

 private:
  struct File {
    Descriptor descriptor;
    ino_t inode = 0;
    std::uint64_t offset = 0;  // everything before it is read, or not asked for
  };
  enum class Phase { kClosed, kSeeking, kReading };

  Result<Piece> next_piece();
  Result<void> open_all();
  // One block further back, in search of the first of the last lines.
  Result<void> seek();
  // Looks at the lines of a block that begins there, the last one first.
  void count_back(std::string_view block, std::uint64_t begin);
  void begin_reading(std::size_t file, std::uint64_t offset);
  Result<Piece> read();
  // Whether there is a newer file than the last one; it is opened.
  Result<bool> follow_rotation();
  std::string shown(std::string_view lines);

  std::string path_;
  LogQuery query_;
  Phase phase_ = Phase::kClosed;
  std::deque<File> files_{};  // oldest first; the first one is being read
  bool is_within_line_ = false;
  bool is_old_ = false;  // the line that is being read is older than what is asked for

  // While seeking.
  std::size_t file_ = 0;          // which is being searched
  std::uint64_t unsearched_ = 0;  // bytes of it, before those that were
  std::size_t found_ = 0;         // lines
  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
  };
  Place entry_{};  // the oldest that was looked at
  bool has_entry_ = false;
};

}  // namespace corehold
