// SPDX-License-Identifier: Apache-2.0
#include "cli/resize/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/output.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kUsualColumns = 80;
// To the beginning of the line, and everything after it erased.
constexpr std::string_view kErase = "\r\x1b[K";

std::size_t columns_of_terminal() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

}  // namespace

LiveLine::LiveLine() : is_live_(::isatty(STDERR_FILENO) == 1) {}

void LiveLine::show(std::string_view text) {
  if (!is_live_) return;
  // In the last column some terminals go on to the next line by themselves.
  const std::string line = fitted(on_one_line(text), columns_of_terminal() - 1);
  static_cast<void>(write_all(STDERR_FILENO, fmt::format("{}{}", kErase, line)));
  is_shown_ = true;
}

void LiveLine::keep(std::string_view text) {
  clear();
  complain(text);
}

void LiveLine::clear() {
  if (!is_shown_) return;
  static_cast<void>(write_all(STDERR_FILENO, kErase));
  is_shown_ = false;
}

std::string fitted(std::string_view line, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t count = 0; at < line.size() && count < columns; ++count) {
    at += std::max<std::size_t>(1, rune_length(line, at));
  }
  return std::string(line.substr(0, at));
}

}  // namespace corehold
