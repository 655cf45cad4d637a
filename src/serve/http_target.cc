// SPDX-License-Identifier: Apache-2.0
#include "serve/http_target.h"

#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace corehold {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus { kIsPlus, kIsSpace };

Result<std::string> decoded(std::string_view text, Plus plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::kIsSpace) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return Error{Code::kInvalid, fmt::format("{:?}: % without two hexadecimal digits", text)};
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  // It is shown again in answers, and JSON holds nothing else.
  if (!is_utf8(out)) return Error{Code::kInvalid, "the target of the request is not UTF-8"};
  return out;
}

// Calls `take` for each piece between separators.
template <typename Take>
Result<void> split(std::string_view text, char separator, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    TRY(take(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

Result<HttpTarget> HttpTarget::parse(std::string_view text) {
  if (!text.starts_with('/')) {
    return Error{Code::kInvalid, fmt::format("{:?} is no path", text.substr(0, 100))};
  }
  HttpTarget target;
  const std::size_t mark = text.find('?');
  TRY(split(text.substr(0, mark), '/', [&target](std::string_view piece) -> Result<void> {
    if (!piece.empty()) target.path.push_back(TRY(decoded(piece, Plus::kIsPlus)));
    return {};
  }));
  if (mark == std::string_view::npos) return target;
  TRY(split(text.substr(mark + 1), '&', [&target](std::string_view piece) -> Result<void> {
    const std::size_t equals = piece.find('=');
    const bool has_value = equals != std::string_view::npos;
    const std::string name = TRY(decoded(piece.substr(0, equals), Plus::kIsSpace));
    target.query[name] = has_value ? TRY(decoded(piece.substr(equals + 1), Plus::kIsSpace)) : "";
    return {};
  }));
  return target;
}

std::string HttpTarget::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

Result<bool> HttpTarget::flag(const std::string& name) const {
  const auto found = query.find(name);
  if (found == query.end() || found->second == "false" || found->second == "0") return false;
  if (found->second.empty() || found->second == "true" || found->second == "1") return true;
  return Error{Code::kInvalid,
               fmt::format("{}: {:?} is neither true nor false", name, found->second)};
}

Result<std::optional<std::int64_t>> HttpTarget::number(const std::string& name) const {
  const auto found = query.find(name);
  if (found == query.end()) return std::optional<std::int64_t>();
  const std::string& text = found->second;
  std::int64_t value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0) {
    return Error{Code::kInvalid,
                 fmt::format("{}: {:?} is no whole number of 0 or more", name, text)};
  }
  return std::optional(value);
}

}  // namespace corehold
