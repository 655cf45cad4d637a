// SPDX-License-Identifier: Apache-2.0
#include "sys/log/log.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> logger_to(spdlog::sink_ptr sink, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("corehold", std::move(sink));
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc));
  logger->set_level(level_of(level));
  logger->flush_on(spdlog::level::trace);
  return logger;
}

bool stands_bare(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\';
  });
}

void add(std::string& line, std::string_view key, std::string_view value) {
  if (!line.empty()) line += ' ';
  line += key;
  line += '=';
  line += stands_bare(value) ? std::string(value) : go_quoted(value);
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  return Error{Code::kInvalid,
               fmt::format("{:?} is no log level: debug, info, warning or error", text)};
}

std::string log_text(std::string_view message, const LogFields& fields) {
  std::string line;
  add(line, "msg", message);
  for (const auto& [key, value] : fields) add(line, key, value);
  return line;
}

Log Log::to_stderr(LogLevel level) {
  return Log(logger_to(std::make_shared<spdlog::sinks::stderr_sink_st>(), level));
}

Log Log::to_stream(std::ostream& stream, LogLevel level) {
  return Log(logger_to(std::make_shared<spdlog::sinks::ostream_sink_st>(stream), level));
}

bool Log::is_on(LogLevel level) const { return logger_->should_log(level_of(level)); }

void Log::write(LogLevel level, std::string_view message, const LogFields& fields) const {
  if (is_on(level)) logger_->log(level_of(level), "{}", log_text(message, fields));
}

}  // namespace corehold
