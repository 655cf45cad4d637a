// SPDX-License-Identifier: Apache-2.0
#include "isolation/quiet_advice.h"

#include <utility>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

void add_governors(const KernelSettings& settings, std::vector<QuietAdvice>& advice) {
  std::map<std::string, CpuSet> cpus_of;
  for (const auto& [cpu, governor] : settings.governors) {
    // With userspace somebody has chosen the frequency, and it stays.
    if (governor == "performance" || governor == "userspace") continue;
    cpus_of[governor].insert(cpu);
  }
  for (const auto& [governor, cpus] : cpus_of) {
    QuietAdvice item{.setting = "governor",
                     .cpus = cpus,
                     .now = governor,
                     .advised = "performance",
                     .why = "the frequency stays high"};
    for (const CpuId cpu : cpus) {
      item.files.push_back(fmt::format("{}/cpu{}/cpufreq/scaling_governor", kCpus, cpu.value));
    }
    advice.push_back(std::move(item));
  }
}

// Uncores with the same limits are one item.
void add_uncores(const KernelSettings& settings, std::vector<QuietAdvice>& advice) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> files_of;
  for (const UncoreFrequency& uncore : settings.uncores) {
    if (uncore.min_khz >= uncore.max_khz) continue;
    files_of[{uncore.min_khz, uncore.max_khz}].push_back(
        fmt::format("{}/intel_uncore_frequency/{}/min_freq_khz", kCpus, uncore.name));
  }
  for (auto& [limits, files] : files_of) {
    advice.push_back({.setting = "uncore min_freq_khz",
                      .now = std::to_string(limits.first),
                      .advised = std::to_string(limits.second),
                      .why = "caches keep their speed",
                      .files = std::move(files)});
  }
}

void add_numa_balancing(const KernelSettings& settings, std::vector<QuietAdvice>& advice) {
  if (settings.numa_balancing.value_or(0) == 0) return;
  advice.push_back({.setting = "kernel.numa_balancing",
                    .now = std::to_string(*settings.numa_balancing),
                    .advised = "0",
                    .why = "no faults to move pages",
                    .files = {"/proc/sys/kernel/numa_balancing"}});
}

void add_rt_runtime(const KernelSettings& settings, const KernelFacts& kernel,
                    std::vector<QuietAdvice>& advice) {
  constexpr std::int64_t kUsualPeriod = 1'000'000;
  // From 6.12 on the kernel pauses real-time tasks only for others that wait for the same CPU, and
  // this setting no longer says for how long.
  if (!settings.rt_runtime_us || kernel.is_at_least(6, 12)) return;
  const std::int64_t runtime = *settings.rt_runtime_us;
  if (runtime < 0 || runtime >= settings.rt_period_us.value_or(kUsualPeriod)) return;
  advice.push_back({.setting = "kernel.sched_rt_runtime_us",
                    .now = std::to_string(runtime),
                    .advised = "-1",
                    .why = "for real-time busy loops",
                    .files = {"/proc/sys/kernel/sched_rt_runtime_us"}});
}

void add_huge_pages(const KernelSettings& settings, std::vector<QuietAdvice>& advice) {
  if (settings.transparent_hugepage != "always") return;
  advice.push_back({.setting = "transparent_hugepage",
                    .now = "always",
                    .advised = "madvise",
                    .why = "no pages merged unasked",
                    .files = {"/sys/kernel/mm/transparent_hugepage/enabled"}});
}

void add_resctrl(const KernelSettings& settings, std::vector<QuietAdvice>& advice) {
  if (settings.resctrl_is_mounted.value_or(true) || !settings.has_cat_l3) return;
  advice.push_back({.setting = "resctrl",
                    .now = "not mounted",
                    .advised = "mounted",
                    .why = "to give a pod its cache",
                    .files = {"/sys/fs/resctrl"}});
}

}  // namespace

std::vector<QuietAdvice> quiet_advice(const KernelSettings& settings, const KernelFacts& kernel) {
  std::vector<QuietAdvice> advice;
  add_governors(settings, advice);
  add_uncores(settings, advice);
  add_numa_balancing(settings, advice);
  add_rt_runtime(settings, kernel, advice);
  add_huge_pages(settings, advice);
  add_resctrl(settings, advice);
  return advice;
}

}  // namespace corehold
