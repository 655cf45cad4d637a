// SPDX-License-Identifier: Apache-2.0
//
// What the agent says about itself: lines of key=value on standard error,
//
//   time=2026-11-16T05:00:00.123Z level=info msg="container started" pod=db/pg-0 cpus=2-3
//
// Values may come from anybody: what would break the line or the quoting is escaped.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spdlog {
class logger;
}

namespace corehold {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error".
Result<LogLevel> parse_log_level(std::string_view text);

using LogField = std::pair<std::string_view, std::string>;
using LogFields = std::vector<LogField>;

// `msg=... key=value ...` without time and level. A value stands bare when it is made of
// visible ASCII without quotes and equals signs, else in quotes as Go quotes it.
std::string log_text(std::string_view message, const LogFields& fields);

class Log {
 public:
  static Log to_stderr(LogLevel level);
  // For tests. `stream` must outlive the log.
  static Log to_stream(std::ostream& stream, LogLevel level);

  bool is_on(LogLevel level) const;
  void write(LogLevel level, std::string_view message, const LogFields& fields) const;

  void debug(std::string_view message, const LogFields& fields = {}) const {
    write(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, const LogFields& fields = {}) const {
    write(LogLevel::kInfo, message, fields);
  }
  void warning(std::string_view message, const LogFields& fields = {}) const {
    write(LogLevel::kWarning, message, fields);
  }
  void error(std::string_view message, const LogFields& fields = {}) const {
    write(LogLevel::kError, message, fields);
  }

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

  std::shared_ptr<spdlog::logger> logger_;  // never null; shared, for that is spdlog's own way
};

}  // namespace corehold
