// SPDX-License-Identifier: Apache-2.0
#include "cpuset/list_format.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace corehold {
namespace {

// Quotes `text` for a message; what is longer than a person would type is cut.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 64;
  if (text.size() <= kShown) return fmt::format("{:?}", text);
  return fmt::format("{:?}... ({} characters)", text.substr(0, kShown), text.size());
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// An optional sign, digits, and a value that fits 64 bits.
Result<std::int64_t> parse_number(std::string_view text, std::string_view item) {
  const bool has_sign = !text.empty() && (text.front() == '+' || text.front() == '-');
  const std::string_view digits = text.substr(has_sign ? 1 : 0);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return Error{Code::kInvalid,
                 fmt::format("item {}: {} is not a number", shown(item), shown(text))};
  }
  std::int64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc()) {
    return Error{Code::kInvalid,
                 fmt::format("item {}: {} does not fit 64 bits", shown(item), shown(text))};
  }
  return text.front() == '-' ? -number : number;
}

// "5" or "5-9". An item is cut at its first "-", so a negative single number
// cannot be written.
Result<NumberRange> parse_item(std::string_view item) {
  const std::size_t dash = item.find('-');
  if (dash == std::string_view::npos) {
    const std::int64_t number = TRY(parse_number(item, item));
    return NumberRange{number, number};
  }
  const std::int64_t first = TRY(parse_number(item.substr(0, dash), item));
  const std::int64_t last = TRY(parse_number(item.substr(dash + 1), item));
  if (first > last) {
    return Error{Code::kInvalid,
                 fmt::format("invalid range {} ({} > {})", shown(item), first, last)};
  }
  return NumberRange{first, last};
}

bool is_canonical(const std::vector<NumberRange>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first - 1 <= ranges[i - 1].last) return false;
  }
  return true;
}

// Sorts, and joins what overlaps or touches.
void make_canonical(std::vector<NumberRange>& ranges) {
  if (is_canonical(ranges)) return;
  std::sort(ranges.begin(), ranges.end(),
            [](const NumberRange& a, const NumberRange& b) { return a.first < b.first; });
  std::vector<NumberRange> joined;
  for (const NumberRange& range : ranges) {
    if (!joined.empty() && range.first - 1 <= joined.back().last) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
}

}  // namespace

Result<std::vector<NumberRange>> parse_list(std::string_view text) {
  std::vector<NumberRange> ranges;
  if (text.empty()) return ranges;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    auto range = parse_item(rest.substr(0, comma));
    if (!range) return wrap(fmt::format("list {}", shown(text)), range.error());
    ranges.push_back(*range);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  make_canonical(ranges);
  return ranges;
}

std::string format_list(const std::vector<NumberRange>& ranges) {
  std::string text;
  const auto append = [&text](std::int64_t number) {
    char digits[24];
    const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
    text.append(digits, written.ptr);
  };
  for (const NumberRange& range : ranges) {
    if (!text.empty()) text += ',';
    append(range.first);
    if (range.last > range.first) {
      text += '-';
      append(range.last);
    }
  }
  return text;
}

}  // namespace corehold
