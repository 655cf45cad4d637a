// SPDX-License-Identifier: Apache-2.0
#include "api/serve/continue_token.h"

#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kTokenFormat = "meta.k8s.io/v1";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Without padding, with the digits that need no escaping in an address.
std::string base64url(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 2);
  unsigned bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) text += kBase64Digits[(bits >> (held - 6)) & 63U];
    bits &= 63U;
  }
  if (held > 0) text += kBase64Digits[(bits << (6 - held)) & 63U];
  return text;
}

Error bad_token(std::string_view problem) {
  return {Code::kInvalid, fmt::format("continue key is not valid: {}", problem)};
}

Result<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  unsigned bits = 0;
  unsigned held = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kBase64Digits.find(text[i]);
    if (digit == std::string_view::npos) {
      return bad_token(fmt::format("illegal base64 data at input byte {}", i));
    }
    bits = ((bits << 6U) | static_cast<unsigned>(digit)) & 0xFFFFU;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>((bits >> held) & 255U);
  }
  if (text.size() % 4 == 1) {
    return bad_token(fmt::format("illegal base64 data at input byte {}", text.size() - 1));
  }
  return bytes;
}

// What the API server says of bytes that are no JSON, where the first of them tells.
std::string json_problem(std::string_view bytes) {
  const std::size_t at = bytes.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return "unexpected end of JSON input";
  const char c = bytes[at];
  if (std::string_view("{[\"-0123456789tfn").find(c) != std::string_view::npos) {
    return "it does not hold JSON";
  }
  const auto byte = static_cast<unsigned char>(c);
  const std::string shown =
      byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  return fmt::format("invalid character '{}' looking for beginning of value", shown);
}

// Whether it leads nowhere but down: no part is empty, "." or "..".
bool is_clean_key(std::string_view key) {
  for (;;) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    key.remove_prefix(slash + 1);
  }
}

}  // namespace

std::string to_text(const ContinueToken& token) {
  // The slash is how the API server writes it, and only where the version is known.
  const std::string start = token.version == ContinueToken::kNow ? token.start : "/" + token.start;
  return base64url(
      json::serialize(json::object{{"v", kTokenFormat}, {"rv", token.version}, {"start", start}}));
}

Result<ContinueToken> parse_continue_token(std::string_view text) {
  const std::string bytes = TRY(from_base64url(text));
  boost::system::error_code failed;
  const json::value value = json::parse(bytes, failed);
  if (failed || !value.is_object()) return bad_token(json_problem(bytes));
  const json::object& object = value.get_object();
  const std::string_view format = look_text(object, {"v"});
  if (format != kTokenFormat) {
    return bad_token(
        fmt::format("server does not recognize this encoded version {}", go_quoted(format)));
  }
  ContinueToken token{.version = look_number(object, {"rv"}),
                      .start = std::string(look_text(object, {"start"}))};
  if (token.version == 0 || token.version < ContinueToken::kNow) {
    return bad_token(
        fmt::format("incorrect encoded start resourceVersion (version {})", kTokenFormat));
  }
  if (token.start.empty()) {
    return bad_token(fmt::format("encoded start key empty (version {})", kTokenFormat));
  }
  const std::string whole = token.start;
  if (token.start.starts_with('/')) token.start.erase(0, 1);
  if (!is_clean_key(token.start)) return bad_token(whole);
  return token;
}

}  // namespace corehold
