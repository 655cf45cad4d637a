// SPDX-License-Identifier: Apache-2.0
//
// Attempt: how far the manager is with something that the shell does for it and that can fail:
// saving a record, writing the checkpoint or the files of a pod, setting CPUs.
//
//     kIdle -> ask() -> kAsked -> succeed() -> kIdle
//                         |
//                         +-> fail() -> kWaiting -> retry(), when the timer fires -> kIdle
//
// While an answer is outstanding, or a failed attempt waits for its timer, nothing is asked again.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace corehold {

// The nth delay of a series that doubles from `first` up to `most`; n counts from 1.
inline std::chrono::milliseconds doubled(std::chrono::milliseconds first,
                                         std::chrono::milliseconds most, int n) {
  for (; n > 1 && first < most; --n) first *= 2;
  return std::min(first, most);
}

// How long to wait before the store, the kernel or the file system is asked again after this many
// failures in a row: a second, doubling to half a minute.
inline std::chrono::milliseconds retry_delay(int failures) {
  constexpr std::chrono::milliseconds kFirst{1'000};
  constexpr std::chrono::milliseconds kMost{30'000};
  return doubled(kFirst, kMost, failures);
}

class Attempt {
 public:
  enum class Phase { kIdle, kAsked, kWaiting };

  Phase phase() const { return phase_; }
  bool may_ask() const { return phase_ == Phase::kIdle; }
  bool is_asked() const { return phase_ == Phase::kAsked; }
  bool is_waiting() const { return phase_ == Phase::kWaiting; }

  // REQUIRES: may_ask().
  void ask() {
    CHECK(may_ask());
    phase_ = Phase::kAsked;
  }
  void succeed() { *this = {}; }
  // How long to wait until retry().
  std::chrono::milliseconds fail() {
    phase_ = Phase::kWaiting;
    return retry_delay(++failures_);
  }
  // The timer has fired. Without effect on an attempt that does not wait for it.
  void retry() {
    if (is_waiting()) phase_ = Phase::kIdle;
  }
  // What was attempted is not wanted any more; a late answer or timer has no effect.
  void drop() { *this = {}; }

  bool operator==(const Attempt&) const = default;

 private:
  Phase phase_ = Phase::kIdle;
  int failures_ = 0;  // in a row
};

}  // namespace corehold
