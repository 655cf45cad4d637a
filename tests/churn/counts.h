// SPDX-License-Identifier: Apache-2.0
//
// What a churn has done, counted by name; from many threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>

namespace corehold::proof {

class Counts {
 public:
  void add(const std::string& name, std::uint64_t count = 1) {
    const std::scoped_lock lock(mutex_);
    counts_[name] += count;
  }

  // One object of JSON, by name.
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    std::string text;
    for (const auto& [name, count] : counts_) {
      text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", name, count);
    }
    return "{" + text + "}";
  }

 private:
  mutable std::mutex mutex_;  // guards counts_: clients are threads that wait for answers
  std::map<std::string, std::uint64_t> counts_{};
};

}  // namespace corehold::proof
