// SPDX-License-Identifier: Apache-2.0
//
// A directory of made files that stands for /proc or /sys in tests; removed at the end.
#pragma once

#include <string>
#include <string_view>

namespace corehold {

class MadeFiles {
 public:
  MadeFiles();
  MadeFiles(const MadeFiles&) = delete;
  MadeFiles& operator=(const MadeFiles&) = delete;
  ~MadeFiles();

  const std::string& root() const { return root_; }

  // Makes or replaces ROOT/PATH, and its directories.
  void write(const std::string& path, std::string_view content);

 private:
  std::string root_{};
};

}  // namespace corehold
