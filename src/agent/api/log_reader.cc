// SPDX-License-Identifier: Apache-2.0
#include "agent/api/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/json/time_text.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

// Several times the longest line that is written.
constexpr std::size_t kBlock = std::size_t{128} * 1024;
constexpr int kMaxFiles = 100;
constexpr int kTries = 10;

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : fmt::format("{}.{}", path, number);
}

Error failed(const std::string& path) { return errno_error(fmt::format("read {}", path), errno); }

// 0: there is none.
ino_t inode_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t size,
                            const std::string& path) {
  std::string block(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(fd, block.data() + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  block.resize(filled);
  return block;
}

bool is_before(std::string_view time, std::chrono::milliseconds since) {
  const auto at = parse_time(time);
  return at && *at < since;
}

}  // namespace

Result<LogReader::Piece> LogReader::next() {
  if (query_.limit == 0) return Piece{.is_over = true};
  Piece piece = TRY(next_piece());
  if (!query_.limit) return piece;
  if (piece.text.size() > *query_.limit) piece.text.resize(static_cast<std::size_t>(*query_.limit));
  *query_.limit -= piece.text.size();
  piece.is_over = query_.limit == 0;
  if (piece.is_over) piece.more = false;
  return piece;
}

Result<LogReader::Piece> LogReader::next_piece() {
  if (phase_ == Phase::kClosed) {
    TRY(open_all());
    if (files_.empty()) {
      // Of a log that begins only now every line is one of the last.
      query_.tail.reset();
      return Piece{};
    }
    phase_ = query_.tail ? Phase::kSeeking : Phase::kReading;
    file_ = files_.size();
  }
  if (phase_ == Phase::kReading) return read();
  TRY(seek());
  return Piece{.more = true};
}

// Opens the newest file first: a file that is rotated meanwhile is then met twice, not missed.
Result<void> LogReader::open_all() {
  int missing = 0;
  for (int number = 0; number <= kMaxFiles && missing < 2; ++number) {
    const std::string path = numbered(path_, number);
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor.is_open() && errno == ENOENT) {
      ++missing;
      continue;
    }
    struct stat status {};
    if (!descriptor.is_open() || ::fstat(descriptor.get(), &status) != 0) return failed(path);
    missing = 0;
    const bool is_known = std::any_of(files_.begin(), files_.end(), [&status](const File& file) {
      return file.inode == status.st_ino;
    });
    if (!is_known) {
      files_.push_front({.descriptor = std::move(descriptor), .inode = status.st_ino});
    }
  }
  return {};
}

Result<void> LogReader::seek() {
  if (unsearched_ == 0) {
    if (file_ == 0) {
      begin_reading(0, 0);
      return {};
    }
    --file_;
    struct stat status {};
    if (::fstat(files_[file_].descriptor.get(), &status) != 0) return failed(path_);
    unsearched_ = static_cast<std::uint64_t>(status.st_size);
    if (unsearched_ == 0) return {};
  }
  const std::uint64_t begin = unsearched_ > kBlock ? unsearched_ - kBlock : 0;
  const std::string block = TRY(read_at(files_[file_].descriptor.get(), begin,
                                        static_cast<std::size_t>(unsearched_ - begin), path_));
  count_back(block, begin);
  return {};
}

void LogReader::count_back(std::string_view block, std::uint64_t begin) {
  const std::size_t last = block.rfind('\n');
  block = block.substr(0, last == std::string_view::npos ? 0 : last + 1);
  // The first line may have begun before: it is looked at with the next block.
  std::size_t first = 0;
  if (begin > 0) first = std::min(block.find('\n'), block.size() - 1) + 1;
  if (begin > 0 && first == block.size()) first = 0;
  unsearched_ = begin + first;
  if (*query_.tail == 0) return begin_reading(file_, begin + block.size());
  std::size_t end = block.size();
  while (end > first) {
    const std::size_t before = end < 2 ? std::string_view::npos : block.rfind('\n', end - 2);
    const std::size_t start =
        before == std::string_view::npos || before + 1 < first ? first : before + 1;
    const auto entry = parse_log_line(block.substr(start, end - 1 - start));
    end = start;
    if (!entry) continue;
    // What follows a whole line is the beginning of another.
    if (has_entry_ && entry->is_whole && ++found_ == *query_.tail) {
      return begin_reading(entry_.file, entry_.offset);
    }
    entry_ = {.file = file_, .offset = begin + start};
    has_entry_ = true;
  }
}

void LogReader::begin_reading(std::size_t file, std::uint64_t offset) {
  for (; file > 0; --file) files_.pop_front();
  files_.front().offset = offset;
  phase_ = Phase::kReading;
}

Result<LogReader::Piece> LogReader::read() {
  File& file = files_.front();
  const std::string block = TRY(read_at(file.descriptor.get(), file.offset, kBlock, path_));
  const std::size_t end = block.rfind('\n');
  if (end != std::string::npos) {
    file.offset += end + 1;
    return Piece{.text = shown(std::string_view(block).substr(0, end + 1)), .more = true};
  }
  if (block.size() == kBlock) {
    // The line is not in the format of a log.
    file.offset += block.size();
    return Piece{.more = true};
  }
  if (files_.size() > 1) {
    files_.pop_front();
    return Piece{.more = true};
  }
  return Piece{.more = TRY(follow_rotation())};
}

Result<bool> LogReader::follow_rotation() {
  const ino_t inode = files_.back().inode;
  for (int i = 0; i < kTries; ++i) {
    int number = 0;
    while (number <= kMaxFiles && inode_at(numbered(path_, number)) != inode) ++number;
    if (number == 0) return false;
    if (number > kMaxFiles) {
      // The file that is read has been rotated away: continues with the oldest file left.
      File read = std::move(files_.front());
      files_.clear();
      TRY(open_all());
      files_.push_front(std::move(read));
      return files_.size() > 1;
    }
    Descriptor newer(::open(numbered(path_, number - 1).c_str(), O_RDONLY | O_CLOEXEC));
    if (!newer.is_open() && errno == ENOENT) return false;  // in the middle of a rotation
    struct stat status {};
    if (!newer.is_open() || ::fstat(newer.get(), &status) != 0) return failed(path_);
    // Unless the files have been rotated again meanwhile.
    if (inode_at(numbered(path_, number)) != inode || status.st_ino == inode) continue;
    files_.push_back({.descriptor = std::move(newer), .inode = status.st_ino});
    return true;
  }
  return false;
}

std::string LogReader::shown(std::string_view lines) {
  std::string text;
  text.reserve(lines.size());
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const auto entry = parse_log_line(lines.substr(0, end));
    lines.remove_prefix(end + 1);
    if (!entry || (query_.stream && entry->stream != *query_.stream)) continue;
    const bool begins = !std::exchange(is_within_line_, !entry->is_whole);
    if (begins) is_old_ = query_.since.count() != 0 && is_before(entry->time, query_.since);
    if (is_old_) continue;
    if (query_.timestamps && begins) text.append(entry->time).append(" ");
    text.append(entry->text);
    if (entry->is_whole) text.push_back('\n');
  }
  return text;
}

}  // namespace corehold
