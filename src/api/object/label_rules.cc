// SPDX-License-Identifier: Apache-2.0
#include "api/object/label_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::size_t kMostOfName = 63;
constexpr std::size_t kMostOfPrefix = 253;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter_or_digit(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// Letters, digits and, inside, - _ and dots.
bool is_label_word(std::string_view text) {
  return !text.empty() && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_dns_part(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_name(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_dns_part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string too_long(std::size_t most) {
  return fmt::format("must be no more than {} bytes", most);
}

void add_prefix_problems(std::string_view prefix, std::vector<std::string>& problems) {
  if (prefix.empty()) {
    problems.emplace_back("prefix part must be non-empty");
    return;
  }
  if (prefix.size() > kMostOfPrefix) problems.push_back("prefix part " + too_long(kMostOfPrefix));
  if (is_dns_name(prefix)) return;
  problems.emplace_back(
      "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
      "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
      "'example.com', regex used for validation is "
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

}  // namespace

std::vector<std::string> label_key_problems(std::string_view key) {
  std::vector<std::string> problems;
  std::string_view name = key;
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    name = key.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      problems.push_back(
          fmt::format("a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. "
                      "'example.com/MyName')",
                      kNameRule));
      return problems;
    }
    add_prefix_problems(key.substr(0, slash), problems);
  }
  if (name.empty()) problems.emplace_back("name part must be non-empty");
  if (name.size() > kMostOfName) problems.push_back("name part " + too_long(kMostOfName));
  if (!is_label_word(name)) problems.push_back(fmt::format("name part {}", kNameRule));
  return problems;
}

std::vector<std::string> label_value_problems(std::string_view value) {
  std::vector<std::string> problems;
  if (value.size() > kMostOfName) problems.push_back(too_long(kMostOfName));
  if (!value.empty() && !is_label_word(value)) {
    problems.emplace_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  }
  return problems;
}

}  // namespace corehold
