// SPDX-License-Identifier: Apache-2.0
//
// What a container writes, kept in files as the CRI has them: one line "TIME stream F text"
// for each line, with P instead of F for a piece whose line goes on. FILE is the newest;
// when it is full it becomes FILE.1, that one FILE.2 and so on, and the oldest goes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

struct LogLimits {
  std::size_t bytes = std::size_t{10} * 1024 * 1024;  // of one file
  int files = 5;                                      // the newest included
  std::size_t line = std::size_t{16} * 1024;          // a longer line is cut into pieces
};

enum class LogStream { kOut, kError };

// Never fails: a log that cannot be written (a full disk) must not stop a container. What
// cannot be written is lost, and the next line is tried again.
class LogWriter {
 public:
  LogWriter(std::string path, const LogLimits& limits);

  // Bytes as they came; an unfinished line is kept until it ends or is too long.
  void write(LogStream stream, std::string_view bytes, std::chrono::nanoseconds wall);

  // Writes unfinished lines, as pieces.
  void finish(std::chrono::nanoseconds wall);

 private:
  std::string& unfinished(LogStream stream) { return stream == LogStream::kOut ? out_ : error_; }
  void put(LogStream stream, bool is_whole, std::string_view text, std::chrono::nanoseconds wall);
  void write_batch();
  void open();
  void rotate();

  std::string path_;
  LogLimits limits_;
  Descriptor file_{-1};
  std::size_t size_ = 0;
  std::string batch_{};
  std::string out_{};
  std::string error_{};
};

// One line of a log file.
struct LogEntry {
  std::string_view time{};
  LogStream stream = LogStream::kOut;
  bool is_whole = true;  // false: the line goes on in the next entry of its stream
  std::string_view text{};
};

// No value: not such a line.
std::optional<LogEntry> parse_log_line(std::string_view line);

struct LogQuery {
  std::optional<std::size_t> tail{};  // only so many lines, the last ones
  bool timestamps = false;
  std::chrono::milliseconds since{};     // since the Unix epoch: no older lines; zero: all
  std::optional<LogStream> stream{};     // only what was written to this one; LogReader only
  std::optional<std::uint64_t> limit{};  // only so many bytes of text; LogReader only
};

// Up to where a log was read, across rotation.
struct LogPosition {
  ino_t file = 0;
  std::uint64_t offset = 0;
};

struct LogText {
  std::string text{};
  LogPosition end{};
};

// What was written so far. A log that is not there is empty.
Result<LogText> read_log(const std::string& path, const LogQuery& query);

// What was written since; from the oldest that is left when that has gone.
Result<LogText> read_log_from(const std::string& path, const LogPosition& position,
                              const LogQuery& query);

// Removes the logs (of this and other attempts of a container, in one directory as
// "N.log") of attempts before `attempt`.
void remove_logs_before(const std::string& directory, int attempt);

}  // namespace corehold
