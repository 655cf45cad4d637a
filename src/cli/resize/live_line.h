// SPDX-License-Identifier: Apache-2.0
//
// A line of standard error that changes: on a terminal what is shown takes the place of what was
// shown before. Where it is not a terminal, nothing that is only shown is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace corehold {

class LiveLine {
 public:
  LiveLine();
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Whether anybody sees what is shown.
  bool is_live() const { return is_live_; }

  // Until the next, or for ever with keep().
  void show(std::string_view text);
  void keep(std::string_view text);
  void clear();

 private:
  bool is_live_;
  bool is_shown_ = false;
};

// As much of a line as fits into so many columns, so that it does not become two: that could not
// be taken back.
std::string fitted(std::string_view line, std::size_t columns);

}  // namespace corehold
