// SPDX-License-Identifier: Apache-2.0
#include "pod/scale_delay.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace corehold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongest{10'000};

// What is wrong with the text; `what` says what may be written.
Result<milliseconds> parse(std::string_view text, std::string_view what) {
  const auto bad = [&](std::string_view why) {
    return Error{Code::kInvalid, fmt::format("{:?} {}; write {}", text.substr(0, 32), why, what)};
  };
  const bool in_milliseconds = text.ends_with("ms");
  if (!text.ends_with('s')) return bad("has no unit of seconds or milliseconds");
  const std::string_view number = text.substr(0, text.size() - (in_milliseconds ? 2 : 1));
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value,
                                      std::chars_format::fixed);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) {
    return bad("is not a duration");
  }
  const double count = in_milliseconds ? value : value * 1000;
  if (count < 0) return bad("is negative");
  if (!(count <= static_cast<double>(kLongest.count()))) return bad("is longer than 10s");
  const std::int64_t whole = std::llround(count);
  if (std::abs(count - static_cast<double>(whole)) > 1e-6) {
    return bad("is finer than a millisecond");
  }
  return milliseconds(whole);
}

}  // namespace

Result<milliseconds> parse_scale_delay(std::string_view text) {
  return parse(text, R"(0s to 10s, as in "5s", "500ms" or "1.5s")");
}

Result<milliseconds> parse_own_scale_delay(std::string_view text) {
  if (text == "off") return milliseconds{};
  return parse(text, R"("off" or 0s to 10s, as in "5s", "500ms" or "1.5s")");
}

Result<std::optional<milliseconds>> own_scale_delay(
    const std::map<std::string, std::string>& annotations) {
  const auto found = annotations.find(kScaleDelayAnnotation);
  if (found == annotations.end()) return std::optional<milliseconds>();
  return std::optional(TRY(parse_own_scale_delay(found->second)));
}

}  // namespace corehold
