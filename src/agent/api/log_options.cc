// SPDX-License-Identifier: Apache-2.0
#include "agent/api/log_options.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "api/field_errors.h"
#include "api/json/time_text.h"

namespace corehold {
namespace {

constexpr std::int64_t kLongestSince = std::int64_t{50} * 365 * 24 * 3600;  // since 1970 or so
constexpr std::string_view kOneSince =
    "at most one of `sinceTime` or `sinceSeconds` may be specified";
constexpr std::string_view kTailOfStream =
    "`tailLines` and specific `stream` are mutually exclusive for now";

// As text of the query, without regard to what the values mean.
struct GivenOptions {
  LogOptions options{};
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> seconds{};
  std::optional<std::chrono::milliseconds> time{};
};

Result<GivenOptions> read(const HttpTarget& target) {
  GivenOptions given;
  if (const auto lines = TRY(target.number("tailLines"))) {
    given.options.query.tail = static_cast<std::size_t>(*lines);
  }
  given.limit = TRY(target.number("limitBytes"));
  given.seconds = TRY(target.number("sinceSeconds"));
  if (const std::string time = target.parameter("sinceTime"); !time.empty()) {
    given.time = TRY(parse_time(time));
  }
  given.options.query.timestamps = TRY(target.flag("timestamps"));
  given.options.previous = TRY(target.flag("previous"));
  given.options.follow = TRY(target.flag("follow"));
  return given;
}

}  // namespace

ApiResult<LogOptions> log_options(const HttpTarget& target, const std::string& pod,
                                  std::chrono::milliseconds now) {
  const auto given = read(target);
  if (!given) {
    return ApiStatus{.reason = StatusReason::kBadRequest, .message = given.error().message};
  }
  LogOptions options = given->options;
  FieldErrors errors;
  if (given->limit == 0) errors.invalid(ErrorPath("limitBytes"), 0, "must be greater than 0");
  if (given->seconds && given->time) errors.forbidden(ErrorPath(""), kOneSince);
  if (given->seconds == 0) errors.invalid(ErrorPath("sinceSeconds"), 0, "must be greater than 0");
  const std::string stream = target.parameter("stream");
  if (stream == "Stdout") {
    options.query.stream = LogStream::kOut;
  } else if (stream == "Stderr") {
    options.query.stream = LogStream::kError;
  } else if (!stream.empty() && stream != "All") {
    errors.not_supported(ErrorPath("stream"), stream, {"All", "Stderr", "Stdout"});
  }
  if (options.query.stream && options.query.tail) {
    errors.forbidden(ErrorPath(""), kTailOfStream);
  }
  if (!errors.empty()) return errors.status("PodLogOptions", pod);
  if (given->limit) options.query.limit = static_cast<std::uint64_t>(*given->limit);
  if (given->time) options.query.since = *given->time;
  if (given->seconds) {
    options.query.since = now - std::chrono::seconds(std::min(*given->seconds, kLongestSince));
  }
  return options;
}

}  // namespace corehold
