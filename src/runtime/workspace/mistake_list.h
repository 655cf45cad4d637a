// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of one pod, as many as a person reads. A pod can have more than a list of them should
// hold: those that follow are counted only.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace corehold {

class MistakeList {
 public:
  static constexpr std::size_t kMost = 100;

  void add(std::string mistake) {
    if (told_.size() < kMost) {
      told_.push_back(std::move(mistake));
    } else {
      ++more_;
    }
  }

  // With "and N more" at the end when some were only counted.
  std::vector<std::string> take() {
    if (more_ > 0) told_.push_back(fmt::format("and {} more", std::exchange(more_, 0)));
    return std::exchange(told_, {});
  }

 private:
  std::vector<std::string> told_{};
  std::size_t more_ = 0;
};

}  // namespace corehold
