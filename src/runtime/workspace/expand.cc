// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/expand.h"

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::size_t kMostBytes = std::size_t{128} << 10U;  // MAX_ARG_STRLEN

}  // namespace

Result<std::string> expand(std::string_view text,
                           const std::map<std::string, std::string>& variables) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '$' || at + 1 == text.size()) {
      result += text[at++];
      continue;
    }
    if (text[at + 1] == '$') {
      result += '$';
      at += 2;
      continue;
    }
    const std::size_t end = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      result += text[at++];
      continue;
    }
    const std::string_view reference = text.substr(at, end + 1 - at);
    const auto found = variables.find(std::string(reference.substr(2, reference.size() - 3)));
    result += found == variables.end() ? reference : std::string_view(found->second);
    at = end + 1;
    if (result.size() > kMostBytes) {
      return Error{Code::kInvalid,
                   fmt::format("a word of the command or its environment is longer than {} bytes "
                               "once its variables are put in",
                               kMostBytes)};
    }
  }
  return result;
}

}  // namespace corehold
