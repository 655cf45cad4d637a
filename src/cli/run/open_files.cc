// SPDX-License-Identifier: Apache-2.0
#include "cli/run/open_files.h"

#include <sys/resource.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr const char* kVariable = "COREHOLD_OPEN_FILES";

}  // namespace

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  const std::string before = fmt::to_string(limit.rlim_cur);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) ::setenv(kVariable, before.c_str(), 1);
}

void restore_open_files() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return;
  const std::string_view word(text);
  rlim_t before = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), before);
  rlimit limit{};
  if (parsed.ec != std::errc() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (before > limit.rlim_max) return;
  limit.rlim_cur = before;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace corehold
