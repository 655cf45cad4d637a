// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/code.h"
#include "base/utf8.h"
#include "gotext/go_json_writer.h"
#include "sys/file/file.h"

namespace corehold {

std::string on_one_line(std::string_view message) {
  std::string line;
  for (std::size_t at = 0; at < message.size();) {
    const std::string_view rune =
        message.substr(at, std::max<std::size_t>(1, rune_length(message, at)));
    at += rune.size();
    if (rune == "\"" || rune == "\\") {
      line += rune;
      continue;
    }
    const std::string quoted = go_quoted(rune);
    line.append(quoted, 1, quoted.size() - 2);
  }
  return line;
}

int answer(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return kExitDone;
  complain(fmt::format("write to standard output: {}", std::strerror(error)));
  return kExitFailed;
}

void complain(std::string_view message) {
  static_cast<void>(write_all(STDERR_FILENO, fmt::format("corehold: {}\n", on_one_line(message))));
}

void report(std::string_view line) {
  static_cast<void>(write_all(STDERR_FILENO, on_one_line(line) + "\n"));
}

int fail(const Error& error) {
  complain(error.message);
  return kExitFailed;
}

Error bad_argument(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string or_dash(std::string_view text) { return text.empty() ? "-" : on_one_line(text); }

int fail_usage(const Error& error, std::string_view command) {
  if (error.code != Code::kInvalid) return fail(error);
  complain(error.message);
  complain(fmt::format("see corehold {} --help", command));
  return kExitUsage;
}

void ignore_broken_pipes() { static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); }

}  // namespace corehold
