// SPDX-License-Identifier: Apache-2.0
#include "leak_judge.h"

#include <algorithm>

namespace corehold::proof {

void LeakJudge::add_grant(const CpuSet& cpus, Nanoseconds from, Nanoseconds to,
                          std::uint64_t astray) {
  const Window window = {.from = from, .to = to};
  for (const auto cpu : cpus) windows_[cpu.value].push_back(window);
  all_.push_back(window);
  astray_ += astray;
}

void LeakJudge::add_looks(const std::string& kind, std::uint64_t taken, std::uint64_t lost) {
  kinds_[kind].taken += taken;
  kinds_[kind].lost += lost;
}

LeakCounts LeakJudge::total() const {
  LeakCounts total;
  for (const auto& [kind, counts] : kinds_) {
    total.neighbours += counts.neighbours;
    total.samples += counts.samples;
    total.taken += counts.taken;
    total.lost += counts.lost;
    total.during += counts.during;
    total.near += counts.near;
    total.back += counts.back;
    total.leaks += counts.leaks;
  }
  return total;
}

Verdict LeakJudge::verdict(const Demands& demands) const {
  const LeakCounts counts = total();
  if (counts.leaks > 0 || astray_ > 0) return Verdict::kLeak;
  const bool is_enough = std::all_of(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
    return kind.second.during >= demands.during_each &&
           (!demands.back_each || kind.second.back > 0);
  });
  if (!is_enough || counts.samples < demands.samples || counts.lost > 0 || all_.empty() ||
      counts.near == 0) {
    return Verdict::kNotEnough;
  }
  return Verdict::kProven;
}

bool LeakJudge::within(const std::vector<Window>& windows, Nanoseconds from, Nanoseconds to) {
  return std::any_of(windows.begin(), windows.end(),
                     [&](const Window& window) { return from > window.from && to < window.to; });
}

void LeakJudge::judge(LeakCounts& counts, const Sample& sample, Nanoseconds next,
                      const OnLeak& on_leak) {
  if (within(all_, sample.time, next)) ++counts.during;
  const auto windows = windows_.find(sample.cpu);
  if (windows == windows_.end()) return;
  if (within(windows->second, sample.time, next)) {
    ++counts.leaks;
    on_leak(sample);
    return;
  }
  ++counts.near;
  if (std::all_of(windows->second.begin(), windows->second.end(),
                  [&](const Window& window) { return sample.time > window.to; })) {
    ++counts.back;
  }
}

}  // namespace corehold::proof
