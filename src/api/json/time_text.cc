// SPDX-License-Identifier: Apache-2.0
#include "api/json/time_text.h"

#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace corehold {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

std::string seconds_text(milliseconds since_epoch) {
  const std::chrono::sys_time<milliseconds> time(since_epoch);
  const sys_days day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// Reads a text from the left.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // A number of exactly so many digits.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = text_[i];
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(digits);
    return value;
  }
  // One of these characters; 0 when the next is another.
  char one_of(std::string_view characters) {
    if (text_.empty() || characters.find(text_.front()) == std::string_view::npos) return 0;
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  // Digits after a point as milliseconds; zero when there is no point.
  std::optional<milliseconds> fraction() {
    if (one_of(".") == 0) return milliseconds{0};
    int value = 0;
    std::size_t digits = 0;
    for (; !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; ++digits) {
      if (digits < 3) value = value * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) value *= 10;
    return milliseconds(value);
  }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

std::optional<minutes> zone(Reader& reader) {
  const char sign = reader.one_of("Zz+-");
  if (sign == 'Z' || sign == 'z') return minutes{0};
  if (sign == 0) return std::nullopt;
  const auto hour = reader.number(2);
  if (!hour || reader.one_of(":") == 0) return std::nullopt;
  const auto minute = reader.number(2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  const minutes offset = hours(*hour) + minutes(*minute);
  return sign == '-' ? -offset : offset;
}

std::optional<milliseconds> read_time(std::string_view text) {
  Reader reader(text);
  const auto year = reader.number(4);
  if (!year || reader.one_of("-") == 0) return std::nullopt;
  const auto month = reader.number(2);
  if (!month || reader.one_of("-") == 0) return std::nullopt;
  const auto day = reader.number(2);
  if (!day || reader.one_of("Tt ") == 0) return std::nullopt;
  const auto hour = reader.number(2);
  if (!hour || reader.one_of(":") == 0) return std::nullopt;
  const auto minute = reader.number(2);
  if (!minute || reader.one_of(":") == 0) return std::nullopt;
  const auto second = reader.number(2);
  if (!second) return std::nullopt;
  const auto fraction = reader.fraction();
  if (!fraction) return std::nullopt;
  const auto offset = zone(reader);
  if (!offset || !reader.at_end()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const milliseconds since_epoch = sys_days(date).time_since_epoch() + hours(*hour) +
                                   minutes(*minute) + seconds(*second) + *fraction - *offset;
  if (since_epoch < milliseconds{0}) return std::nullopt;
  return since_epoch;
}

// "3m5s", without a second part of zero.
std::string two_units(std::int64_t large, const char* large_unit, std::int64_t small,
                      const char* small_unit) {
  if (small == 0) return fmt::format("{}{}", large, large_unit);
  return fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
}

}  // namespace

std::string time_text(milliseconds since_epoch) { return seconds_text(since_epoch) + "Z"; }

std::string micro_time_text(milliseconds since_epoch) {
  const auto rest = since_epoch - std::chrono::floor<seconds>(since_epoch);
  return fmt::format("{}.{:03}000Z", seconds_text(since_epoch), rest.count());
}

Result<milliseconds> parse_time(std::string_view text) {
  const auto time = read_time(text);
  if (time) return *time;
  return Error{Code::kInvalid,
               fmt::format("{:?} is no time such as 2026-01-31T09:30:00Z", text.substr(0, 64))};
}

std::string age_text(milliseconds age) {
  const std::int64_t second = std::max<std::int64_t>(0, age.count() / 1000);
  const std::int64_t minute = second / 60;
  const std::int64_t hour = minute / 60;
  const std::int64_t day = hour / 24;
  constexpr std::int64_t kYear = 365;
  if (second < 120) return fmt::format("{}s", second);
  if (minute < 10) return two_units(minute, "m", second % 60, "s");
  if (hour < 3) return fmt::format("{}m", minute);
  if (hour < 8) return two_units(hour, "h", minute % 60, "m");
  if (hour < 48) return fmt::format("{}h", hour);
  if (day < 8) return two_units(day, "d", hour % 24, "h");
  if (day < 2 * kYear) return fmt::format("{}d", day);
  if (day < 8 * kYear) return two_units(day / kYear, "y", day % kYear, "d");
  return fmt::format("{}y", day / kYear);
}

}  // namespace corehold
