// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

// Far more than a log may be; only a limit that was raised and lowered again meets it.
constexpr std::size_t kMaxLogBytes = std::size_t{1024} * 1024 * 1024;
constexpr int kMaxFiles = 100;

std::string time_text(std::chrono::nanoseconds wall) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wall);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     (wall - seconds).count());
}

std::string rotated(const std::string& path, int number) {
  return number == 0 ? path : fmt::format("{}.{}", path, number);
}

struct LogPiece {
  ino_t file = 0;
  std::string content{};
};

// From `offset` on, whole lines only.
Result<std::optional<LogPiece>> read_piece(const std::string& path, std::uint64_t offset) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<LogPiece>{};
    return errno_error(fmt::format("open {}", path), errno);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 ||
      ::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return errno_error(fmt::format("read {}", path), errno);
  }
  LogPiece piece{.file = status.st_ino,
                 .content = TRY(read_stream(file.get(), path, kMaxLogBytes))};
  const std::size_t end = piece.content.rfind('\n');
  piece.content.resize(end == std::string::npos ? 0 : end + 1);
  return std::optional<LogPiece>(std::move(piece));
}

void append_shown(std::string_view content, const LogQuery& query, bool& is_within_line,
                  std::string& text) {
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size() - 1);
    const auto entry = parse_log_line(content.substr(0, end));
    content.remove_prefix(end + 1);
    if (!entry) continue;
    if (query.timestamps && !is_within_line) text.append(entry->time).append(" ");
    text.append(entry->text);
    if (entry->is_whole) text.push_back('\n');
    is_within_line = !entry->is_whole;
  }
}

// The last `count` lines. Pieces of one line count as one.
std::string_view tail_of(std::string_view content, std::size_t count) {
  std::vector<std::size_t> starts;
  bool is_within_line = false;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size() - 1);
    const auto entry = parse_log_line(content.substr(at, end - at));
    if (entry && !is_within_line) starts.push_back(at);
    if (entry) is_within_line = !entry->is_whole;
    at = end + 1;
  }
  if (starts.size() <= count) return content;
  return count == 0 ? std::string_view{} : content.substr(starts[starts.size() - count]);
}

Result<LogText> shown_from(const std::string& path, int oldest, std::uint64_t offset,
                           const LogQuery& query) {
  LogText result;
  std::string content;
  for (int number = oldest; number >= 0; --number) {
    const auto piece = TRY(read_piece(rotated(path, number), number == oldest ? offset : 0));
    if (!piece) continue;
    content += piece->content;
    result.end = {.file = piece->file,
                  .offset = piece->content.size() + (number == oldest ? offset : 0)};
  }
  bool is_within_line = false;
  append_shown(query.tail ? tail_of(content, *query.tail) : content, query, is_within_line,
               result.text);
  return result;
}

int oldest_of(const std::string& path) {
  int oldest = 0;
  for (int number = 1; number <= kMaxFiles; ++number) {
    if (::access(rotated(path, number).c_str(), F_OK) != 0) break;
    oldest = number;
  }
  return oldest;
}

}  // namespace

LogWriter::LogWriter(std::string path, const LogLimits& limits)
    : path_(std::move(path)), limits_(limits) {
  open();
}

void LogWriter::open() {
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  struct stat status {};
  size_ = file_.is_open() && ::fstat(file_.get(), &status) == 0
              ? static_cast<std::size_t>(status.st_size)
              : 0;
}

void LogWriter::rotate() {
  for (int number = limits_.files - 1; number > 0; --number) {
    static_cast<void>(::rename(rotated(path_, number - 1).c_str(), rotated(path_, number).c_str()));
  }
  if (limits_.files <= 1) static_cast<void>(::unlink(path_.c_str()));
  open();
}

void LogWriter::put(LogStream stream, bool is_whole, std::string_view text,
                    std::chrono::nanoseconds wall) {
  const std::string line =
      fmt::format("{} {} {} {}\n", time_text(wall), stream == LogStream::kOut ? "stdout" : "stderr",
                  is_whole ? 'F' : 'P', text);
  const std::size_t size = size_ + batch_.size();
  if (size > 0 && size + line.size() > limits_.bytes) {
    write_batch();
    rotate();
  }
  batch_ += line;
}

// Lines are written many at a time: a call for each would make a busy container slow.
void LogWriter::write_batch() {
  if (!file_.is_open()) open();
  if (file_.is_open()) {
    if (write_all(file_.get(), batch_) == 0) {
      size_ += batch_.size();
    } else {
      // Half a line would spoil the next one.
      static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(size_)));
    }
  }
  batch_.clear();
}

void LogWriter::write(LogStream stream, std::string_view bytes, std::chrono::nanoseconds wall) {
  std::string& rest = unfinished(stream);
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t room = limits_.line - rest.size();
    const std::size_t length = std::min({end, bytes.size(), room});
    rest.append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (length == end) {
      bytes.remove_prefix(1);
      put(stream, true, rest, wall);
      rest.clear();
    } else if (rest.size() >= limits_.line) {
      put(stream, false, rest, wall);
      rest.clear();
    }
  }
  write_batch();
}

void LogWriter::finish(std::chrono::nanoseconds wall) {
  for (const LogStream stream : {LogStream::kOut, LogStream::kError}) {
    std::string& rest = unfinished(stream);
    if (!rest.empty()) put(stream, false, rest, wall);
    rest.clear();
  }
  write_batch();
}

std::optional<LogEntry> parse_log_line(std::string_view line) {
  LogEntry entry;
  const std::size_t time_end = line.find(' ');
  if (time_end == 0 || time_end == std::string_view::npos) return std::nullopt;
  entry.time = line.substr(0, time_end);
  line.remove_prefix(time_end + 1);
  if (line.starts_with("stdout ")) {
    entry.stream = LogStream::kOut;
  } else if (line.starts_with("stderr ")) {
    entry.stream = LogStream::kError;
  } else {
    return std::nullopt;
  }
  line.remove_prefix(7);
  if (!line.starts_with("F ") && !line.starts_with("P ")) return std::nullopt;
  entry.is_whole = line.front() == 'F';
  entry.text = line.substr(2);
  return entry;
}

Result<LogText> read_log(const std::string& path, const LogQuery& query) {
  return shown_from(path, oldest_of(path), 0, query);
}

Result<LogText> read_log_from(const std::string& path, const LogPosition& position,
                              const LogQuery& query) {
  const int oldest = oldest_of(path);
  for (int number = 0; number <= oldest; ++number) {
    struct stat status {};
    if (::stat(rotated(path, number).c_str(), &status) != 0) continue;
    if (status.st_ino == position.file) {
      auto shown = shown_from(path, number, position.offset, query);
      return shown;
    }
  }
  return shown_from(path, oldest, 0, query);
}

void remove_logs_before(const std::string& directory, int attempt) {
  const auto names = entries_of(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const std::string_view rest(end, static_cast<std::size_t>(name.data() + name.size() - end));
    if (error != std::errc{} || !rest.starts_with(".log") || number >= attempt) continue;
    static_cast<void>(::unlink(fmt::format("{}/{}", directory, name).c_str()));
  }
}

}  // namespace corehold
