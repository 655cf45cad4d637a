// SPDX-License-Identifier: Apache-2.0
#include "features/registry/version.h"

#include <algorithm>

#include <fmt/format.h>

#include "pod/json_field.h"

namespace corehold {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_identifier(std::string_view text) {
  const auto allowed = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('.', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// What stands behind the first `mark`, cut off `text`; no text: "".
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

// Numbers of any length, without leading zeros.
std::strong_ordering compare_numbers(const std::string& left, const std::string& right) {
  if (left.size() != right.size()) return left.size() <=> right.size();
  return left <=> right;
}

// Numbers stand below words, among themselves in their order.
std::strong_ordering compare_identifiers(const std::string& left, const std::string& right) {
  const bool left_number = is_number(left);
  if (left_number != is_number(right)) {
    return left_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return left_number ? compare_numbers(left, right) : left <=> right;
}

}  // namespace

Result<Version> Version::parse(std::string_view text) {
  const auto refused = [text](std::string_view problem) {
    return Error{Code::kInvalid,
                 fmt::format("{} is no version{}; write it as 1.37.0 or v1.37.0-rc.1", shown(text),
                             problem)};
  };
  Version version;
  version.text_ = std::string(text);
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const bool has_build = rest.find('+') != std::string_view::npos;
  const std::string_view build = cut(rest, '+');
  const bool has_pre_release = rest.find('-') != std::string_view::npos;
  const std::string_view pre_release = cut(rest, '-');
  version.numbers_ = parts_of(rest);
  if (!is_number(version.numbers_.front())) return refused("");
  if (version.numbers_.size() < 2) return refused(": one number, must be two or three");
  if (version.numbers_.size() > 3) {
    return refused(fmt::format(": {} numbers, must be two or three", version.numbers_.size()));
  }
  version.numbers_.resize(3, "0");
  for (const std::string& number : version.numbers_) {
    if (!is_number(number)) return refused(fmt::format(": {} is not a number", shown(number)));
    if (number.size() > 1 && number.front() == '0') {
      return refused(fmt::format(": {} has a leading zero", shown(number)));
    }
  }
  if (has_pre_release) version.pre_release_ = parts_of(pre_release);
  for (const std::string& part : version.pre_release_) {
    if (!is_identifier(part))
      return refused(fmt::format(": bad pre-release {}", shown(pre_release)));
    if (is_number(part) && part.size() > 1 && part.front() == '0') {
      return refused(fmt::format(": {} has a leading zero", shown(part)));
    }
  }
  if (has_build) {
    const std::vector<std::string> parts = parts_of(build);
    if (!std::all_of(parts.begin(), parts.end(), is_identifier)) {
      return refused(fmt::format(": bad build {}", shown(build)));
    }
  }
  return version;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const auto order = compare_numbers(numbers_[i], other.numbers_[i]);
    if (order != 0) return order;
  }
  if (pre_release_.empty() || other.pre_release_.empty()) {
    return pre_release_.empty() <=> other.pre_release_.empty();
  }
  return std::lexicographical_compare_three_way(pre_release_.begin(), pre_release_.end(),
                                                other.pre_release_.begin(),
                                                other.pre_release_.end(), compare_identifiers);
}

}  // namespace corehold
