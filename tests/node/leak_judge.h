// SPDX-License-Identifier: Apache-2.0
//
// Counts the samples of programs that lie within a grant and on a CPU of it, of each kind of
// program apart. A sample is within a grant when its clock was read after the holder's first
// instruction, and the program's next clock, which is after the CPU was read, before the holder was
// last seen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"
#include "samples.h"

namespace corehold::proof {

// Of one kind of program, or of all.
struct LeakCounts {
  std::uint64_t neighbours = 0;
  std::uint64_t samples = 0;
  std::uint64_t taken = 0;
  std::uint64_t lost = 0;
  std::uint64_t during = 0;  // while any grant was in force, wherever
  std::uint64_t near = 0;    // on a CPU of a grant while it was not in force
  std::uint64_t back = 0;    // of those, after the last grant of that CPU
  std::uint64_t leaks = 0;

  bool operator==(const LeakCounts&) const = default;
};

// What makes a proof.
struct Demands {
  std::uint64_t samples = 0;      // of all together
  std::uint64_t during_each = 0;  // of each kind, while a grant was in force
  bool back_each = false;         // each kind was on a CPU that had been given back
};

enum class Verdict {
  kProven = 0,
  kLeak = 1,       // samples within a grant, or a holder elsewhere
  kNotEnough = 2,  // the proof does not count
};

class LeakJudge {
 public:
  using OnLeak = std::function<void(const Sample&)>;

  // All grants come before the first samples.
  void add_grant(const CpuSet& cpus, Nanoseconds from, Nanoseconds to, std::uint64_t astray);

  // What one program has written, in order; nothing is known of the end of the last.
  template <typename Samples>
  void add_samples(const std::string& kind, const Samples& samples, std::uint64_t count,
                   const OnLeak& on_leak) {
    ++kinds_[kind].neighbours;
    kinds_[kind].samples += count;
    for (std::uint64_t index = 0; index + 1 < count; ++index) {
      judge(kinds_[kind], samples[index], samples[index + 1].time, on_leak);
    }
  }
  void add_looks(const std::string& kind, std::uint64_t taken, std::uint64_t lost);

  std::uint64_t grants() const { return all_.size(); }
  std::uint64_t astray() const { return astray_; }
  const std::map<std::string, LeakCounts>& kinds() const { return kinds_; }
  LeakCounts total() const;

  Verdict verdict(const Demands& demands) const;

 private:
  struct Window {
    Nanoseconds from = 0;
    Nanoseconds to = 0;
  };

  static bool within(const std::vector<Window>& windows, Nanoseconds from, Nanoseconds to);
  void judge(LeakCounts& counts, const Sample& sample, Nanoseconds next, const OnLeak& on_leak);

  std::map<int, std::vector<Window>> windows_{};  // by CPU
  std::vector<Window> all_{};
  std::uint64_t astray_ = 0;  // looks of holders on CPUs that are not theirs
  std::map<std::string, LeakCounts> kinds_{};
};

}  // namespace corehold::proof
