// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/expand.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {
namespace {

// A text in pieces, each of which is put in as it is, or is "$(NAME)".
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  // The next piece; `name()` is then NAME, or empty for a piece that is put in as it is. A name can
  // be empty as well: no variable has it.
  std::string_view next() {
    name_ = {};
    if (rest_.starts_with("$$")) return take(2).substr(0, 1);
    if (rest_.starts_with("$(")) {
      // Where there is none, there is none for the references that follow either: a long text of
      // them is not looked through for each.
      const std::size_t end = is_closed_ ? rest_.find(')') : std::string_view::npos;
      is_closed_ = end != std::string_view::npos;
      if (is_closed_) {
        name_ = rest_.substr(2, end - 2);
        return take(end + 1);
      }
    }
    return take(std::min(rest_.find('$', 1), rest_.size()));
  }
  std::string_view name() const { return name_; }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::string_view name_{};
  bool is_closed_ = true;
};

}  // namespace

Result<std::string> expand(std::string_view text,
                           const std::map<std::string, std::string>& variables) {
  std::string result;
  for (Pieces pieces(text); !pieces.at_end();) {
    std::string_view piece = pieces.next();
    if (!pieces.name().empty()) {
      const auto found = variables.find(std::string(pieces.name()));
      if (found != variables.end()) piece = found->second;
    }
    if (result.size() + piece.size() >= kMostStringBytes) {
      return Error{Code::kInvalid,
                   fmt::format("a word of the command or its environment is longer than {} bytes "
                               "once its variables are put in",
                               kMostStringBytes - 1)};
    }
    result += piece;
  }
  return result;
}

std::size_t expanded_size(std::string_view text, const std::map<std::string, std::size_t>& sizes) {
  std::size_t total = 0;
  for (Pieces pieces(text); !pieces.at_end();) {
    const std::string_view piece = pieces.next();
    std::size_t size = piece.size();
    if (!pieces.name().empty()) {
      const auto found = sizes.find(std::string(pieces.name()));
      if (found != sizes.end()) size = found->second;
    }
    total += size;
  }
  return total;
}

}  // namespace corehold
