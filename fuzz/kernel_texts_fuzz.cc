// SPDX-License-Identifier: Apache-2.0
//
// Texts of /proc and /sys: none crashes a parser, and a report can be made of what was read.
#include <cstdint>
#include <string_view>

#include "isolation/cpu_mask.h"
#include "isolation/quiet_report.h"
#include "kernel/cpu_times.h"
#include "kernel/interrupts.h"
#include "kernel/kernel_facts.h"
#include "kernel/kernel_settings.h"
#include "kernel/task.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corehold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  MachineSnapshot machine;
  if (auto task = parse_task_stat(text)) machine.tasks.push_back(*std::move(task));
  static_cast<void>(parse_task_affinity(text));
  CHECK(!parse_task_cgroup("0::/a\n").empty());
  static_cast<void>(parse_task_cgroup(text));
  machine.times = parse_cpu_stat(text);
  add_schedstat(text, machine.times);
  if (auto table = parse_interrupts(text)) {
    machine.interrupts = *table;
    machine.softirqs = *std::move(table);
  }
  if (const auto mask = parse_cpu_mask(text)) CHECK(mask->empty() || mask->last().value < kMaxCpus);
  static_cast<void>(parse_kernel_release(text));
  static_cast<void>(boot_parameter(text, "isolcpus"));
  CHECK(parse_boot_cpus(text, CpuId(7)).is_subset_of(CpuSet::of_word(0xff)));
  static_cast<void>(mounts_resctrl(text));
  static_cast<void>(has_cpu_flag(text, "cat_l3"));
  if (const auto word = chosen_word(text)) CHECK(!word->empty());
  KernelFacts kernel{.online = CpuSet::of_word(0xff)};
  kernel.nohz_full = parse_sys_cpus(text);
  const QuietReport report = quiet_report({.cpus = kernel.online, .kernel = kernel}, {}, machine);
  CHECK(report.cpus.size() == 8);
  return 0;
}
