// SPDX-License-Identifier: Apache-2.0
#include "serve/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr const char* kStat = "/proc/self/stat";

// When the machine was started, in seconds since the Unix epoch.
Result<double> boot_time() {
  const std::string text = TRY(read_kernel_file("/proc/stat"));
  constexpr std::string_view kWord = "\nbtime ";
  const std::size_t at = text.find(kWord);
  std::int64_t seconds = 0;
  if (at != std::string::npos) {
    const char* const begin = text.data() + at + kWord.size();
    std::from_chars(begin, text.data() + text.size(), seconds);
  }
  if (seconds <= 0) return Error{Code::kIo, "/proc/stat: there is no btime"};
  return static_cast<double>(seconds);
}

double max_fds() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<double>::infinity();
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

Result<ProcessStat> parse_process_stat(std::string_view text) {
  // Fields are counted from 1, as in proc(5); the name is the second, in parentheses.
  constexpr std::size_t kUserTime = 14;
  constexpr std::size_t kSystemTime = 15;
  constexpr std::size_t kStart = 22;
  constexpr std::size_t kVirtual = 23;
  constexpr std::size_t kResident = 24;
  std::array<std::int64_t, kResident + 1> fields{};
  std::size_t at = text.rfind(')');
  std::size_t field = 3;
  for (; at != std::string_view::npos && field <= kResident; ++field) {
    at = text.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos) break;
    std::size_t end = text.find(' ', at);
    if (end == std::string_view::npos) end = text.size();
    std::from_chars(text.data() + at, text.data() + end, fields[field]);
    at = end;
  }
  if (field <= kResident) return Error{Code::kIo, "/proc/PID/stat has too few fields"};
  return ProcessStat{.cpu_ticks = fields[kUserTime] + fields[kSystemTime],
                     .start_ticks = fields[kStart],
                     .virtual_bytes = fields[kVirtual],
                     .resident_pages = fields[kResident]};
}

Result<ProcessFigures> process_figures() {
  const std::string text = TRY(read_kernel_file(kStat));
  const ProcessStat stat = TRY(parse_process_stat(text));
  const double boot = TRY(boot_time());
  const auto descriptors = TRY(entries_of("/proc/self/fd"));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  // One descriptor was open only to count them.
  return ProcessFigures{.cpu_seconds = static_cast<double>(stat.cpu_ticks) / ticks,
                        .start_time = boot + static_cast<double>(stat.start_ticks) / ticks,
                        .resident_bytes = stat.resident_pages * ::sysconf(_SC_PAGESIZE),
                        .virtual_bytes = stat.virtual_bytes,
                        .open_fds = static_cast<std::int64_t>(descriptors.size()) - 1,
                        .max_fds = max_fds()};
}

}  // namespace corehold
