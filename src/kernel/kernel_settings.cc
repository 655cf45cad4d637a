// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_settings.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

std::string text_or_empty(const std::string& path) {
  auto text = read_kernel_file(path);
  return text ? *std::move(text) : std::string();
}

std::optional<std::int64_t> number_at(const std::string& path) {
  return number_in<std::int64_t>(trimmed(text_or_empty(path)));
}

std::vector<UncoreFrequency> read_uncores(const std::string& directory) {
  std::vector<UncoreFrequency> uncores;
  const auto names = entries_of(directory);
  if (!names) return uncores;
  for (const std::string& name : *names) {
    const auto min = number_at(fmt::format("{}/{}/min_freq_khz", directory, name));
    const auto max = number_at(fmt::format("{}/{}/max_freq_khz", directory, name));
    if (min && max) uncores.push_back({.name = name, .min_khz = *min, .max_khz = *max});
  }
  return uncores;
}

// The kernel makes the directory where the CPUs can do something with it; whoever sees files there
// sees it mounted. In a container the one or the other may be hidden.
std::optional<bool> read_resctrl(const std::string& mounts, const std::string& directory) {
  if (mounts_resctrl(mounts)) return true;
  const auto entries = entries_of(directory);
  if (!entries) return std::nullopt;
  return !entries->empty();
}

}  // namespace

std::optional<std::string> chosen_word(std::string_view text) {
  const std::size_t begin = text.find('[');
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(']', begin);
  if (end == std::string_view::npos || end == begin + 1) return std::nullopt;
  return std::string(text.substr(begin + 1, end - begin - 1));
}

bool mounts_resctrl(std::string_view mounts) {
  while (!mounts.empty()) {
    std::string_view line = take_line(mounts);
    static_cast<void>(take_word(line));  // what
    static_cast<void>(take_word(line));  // where
    if (take_word(line) == "resctrl") return true;
  }
  return false;
}

bool has_cpu_flag(std::string_view cpuinfo, std::string_view flag) {
  while (!cpuinfo.empty()) {
    std::string_view line = take_line(cpuinfo);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != "flags") continue;
    line.remove_prefix(colon + 1);
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      if (word == flag) return true;
    }
    return false;
  }
  return false;
}

KernelSettings read_kernel_settings(const CpuSet& cpus, const std::string& proc,
                                    const std::string& sys) {
  KernelSettings settings;
  const std::string directory = sys + "/devices/system/cpu";
  for (const CpuId cpu : cpus) {
    const std::string text =
        text_or_empty(fmt::format("{}/cpu{}/cpufreq/scaling_governor", directory, cpu.value));
    const std::string_view governor = trimmed(text);
    if (!governor.empty()) settings.governors.emplace(cpu, governor);
  }
  settings.uncores = read_uncores(directory + "/intel_uncore_frequency");
  settings.numa_balancing = number_at(proc + "/sys/kernel/numa_balancing");
  settings.rt_runtime_us = number_at(proc + "/sys/kernel/sched_rt_runtime_us");
  settings.rt_period_us = number_at(proc + "/sys/kernel/sched_rt_period_us");
  settings.transparent_hugepage =
      chosen_word(text_or_empty(sys + "/kernel/mm/transparent_hugepage/enabled"));
  settings.resctrl_is_mounted = read_resctrl(text_or_empty(proc + "/mounts"), sys + "/fs/resctrl");
  if (settings.resctrl_is_mounted == false) {
    settings.has_cat_l3 = has_cpu_flag(text_or_empty(proc + "/cpuinfo"), "cat_l3");
  }
  return settings;
}

}  // namespace corehold
