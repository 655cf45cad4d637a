// SPDX-License-Identifier: Apache-2.0
#include "config/duration.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace corehold {
namespace {

__extension__ using Wide = __int128;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// Those that begin alike: the longer first.
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"\u00b5s", 1'000},  // micro sign
                                      {"\u03bcs", 1'000},  // Greek mu
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

constexpr std::int64_t kMaxNanoseconds = std::numeric_limits<std::int64_t>::max();

std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

const Unit* take_unit(std::string_view& text) {
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [text](const Unit& unit) {
    return text.starts_with(unit.name);
  });
  if (found == kUnits.end()) return nullptr;
  text.remove_prefix(found->name.size());
  return found;
}

// whole.fraction units in nanoseconds; the fraction is cut off below one. More than
// kMaxNanoseconds when it is too long.
Wide nanoseconds_of(std::string_view whole, std::string_view fraction, const Unit& unit) {
  Wide total = 0;
  for (const char digit : whole) {
    total = std::min<Wide>(total * 10 + (digit - '0'), kMaxNanoseconds);
  }
  total *= unit.nanoseconds;
  Wide scale = 1;
  Wide part = 0;
  // Eighteen digits are finer than a nanosecond of an hour.
  for (const char digit : fraction.substr(0, 18)) {
    part = part * 10 + (digit - '0');
    scale *= 10;
  }
  return total + part * unit.nanoseconds / scale;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return Error{Code::kInvalid, fmt::format("{:?} {}; write it as in \"10s\" or \"1m30s\"",
                                             text.substr(0, 32), why)};
  };
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty()) return bad("is not a duration");
  Wide total = 0;
  while (!rest.empty() && rest != "0") {
    const std::string_view whole = take_digits(rest);
    std::string_view fraction;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      fraction = take_digits(rest);
    }
    if (whole.empty() && fraction.empty()) return bad("is not a duration");
    const Unit* unit = take_unit(rest);
    if (unit == nullptr) return bad(rest.empty() ? "has no unit" : "has an unknown unit");
    total += nanoseconds_of(whole, fraction, *unit);
    if (total > kMaxNanoseconds) return bad("is too long");
    if (rest == "0") return bad("has no unit");
  }
  if (is_negative && total > 0) return bad("is negative");
  const auto nanoseconds = static_cast<std::int64_t>(total);
  if (nanoseconds % 1'000'000 != 0) return bad("is finer than a millisecond");
  return std::chrono::milliseconds(nanoseconds / 1'000'000);
}

std::string show_duration(std::chrono::milliseconds duration) {
  using namespace std::chrono;
  std::string text;
  const auto take = [&text, &duration](milliseconds unit, std::string_view name) {
    if (duration < unit) return;
    text += fmt::format("{}{}", duration / unit, name);
    duration %= unit;
  };
  take(1h, "h");
  take(1min, "m");
  take(1s, "s");
  take(1ms, "ms");
  return text.empty() ? "0s" : text;
}

}  // namespace corehold
