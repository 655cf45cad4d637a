// SPDX-License-Identifier: Apache-2.0
#include "sys/file/move_aside.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "sys/clock.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr int kMostNames = 100;

std::string stamp_of(std::chrono::milliseconds now) {
  std::string text = utc_text(now);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

// "": there is no such file.
Result<std::string> move_one(const std::string& file, const std::string& stamp) {
  int error = 0;
  for (int i = 0; i < kMostNames; ++i) {
    const std::string target =
        fmt::format("{}.corrupt-{}{}", file, stamp, i == 0 ? "" : fmt::format("-{}", i));
    if (::renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
      return target;
    }
    error = errno;
    if (error == ENOENT) return std::string();
    if (error != EEXIST) break;
  }
  return errno_error(fmt::format("move {} aside", file), error);
}

}  // namespace

Result<std::vector<std::string>> move_aside(const std::vector<std::string>& files,
                                            std::chrono::milliseconds now) {
  std::vector<std::string> moved;
  for (const std::string& file : files) {
    std::string target = TRY(move_one(file, stamp_of(now)));
    if (!target.empty()) moved.push_back(std::move(target));
  }
  return moved;
}

}  // namespace corehold
