// SPDX-License-Identifier: Apache-2.0
#include "runtime/record_text.h"

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/digest.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

constexpr std::string_view kKey = R"(,"digest":")";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kTail = kKey.size() + kDigits + kEnd.size();

std::string digits_of(std::string_view text) { return fmt::format("{:016x}", digest_of({text})); }

}  // namespace

std::string record_text(const boost::json::object& object) {
  std::string text = boost::json::serialize(object);
  const std::string digits = digits_of(text);
  text.pop_back();
  return fmt::format("{}{}{}{}", text, kKey, digits, kEnd);
}

Result<boost::json::object> read_record_text(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return Error{Code::kCorrupt, "it is empty"};
  const auto value = parse_json(text);
  if (!value) return Error{Code::kCorrupt, value.error().message};
  if (!value->is_object()) return Error{Code::kCorrupt, "not an object"};
  boost::json::object object = value->get_object();
  if (text.size() > kTail && text.substr(text.size() - kTail, kKey.size()) == kKey) {
    const std::string_view said = text.substr(text.size() - kDigits - kEnd.size(), kDigits);
    const std::string given = digits_of(fmt::format("{}}}", text.substr(0, text.size() - kTail)));
    if (said != given) {
      return Error{Code::kCorrupt,
                   fmt::format("its digest is {}, its content gives {}", said, given)};
    }
  }
  object.erase("digest");
  return object;
}

bool goes_on_behind_record(std::string_view text) {
  for (std::size_t at = text.find(kKey); at != std::string_view::npos;
       at = text.find(kKey, at + 1)) {
    const std::size_t end = at + kTail;
    if (end < text.size() && read_record_text(text.substr(0, end))) return true;
  }
  return false;
}

}  // namespace corehold
