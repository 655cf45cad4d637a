// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_times.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/words.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

struct CpuLine {
  CpuId cpu{0};
  std::vector<std::uint64_t> values{};
};

// "cpu3 10 20 ...", up to the first word that is not a number; no value for other lines, also for
// "cpu  10 20", the sum of all.
std::optional<CpuLine> parse_line(std::string_view line) {
  const std::string_view label = take_word(line);
  if (!label.starts_with("cpu")) return std::nullopt;
  const auto number = number_in<int>(label.substr(3));
  if (!number || !CpuSet::can_hold(*number)) return std::nullopt;
  CpuLine result{.cpu = CpuId(*number)};
  while (const auto value = number_in<std::uint64_t>(take_word(line))) {
    result.values.push_back(*value);
  }
  return result;
}

}  // namespace

CpuTimes parse_cpu_stat(std::string_view text) {
  CpuTimes times;
  while (!text.empty()) {
    auto line = parse_line(take_line(text));
    // user nice system idle iowait irq softirq steal; time of guests is in user and nice already.
    if (!line || line->values.size() < 4) continue;
    auto& values = line->values;
    values.resize(8);
    times[line->cpu] = CpuTime{.user = values[0] + values[1],
                               .system = values[2],
                               .idle = values[3] + values[4],
                               .irq = values[5],
                               .softirq = values[6],
                               .steal = values[7]};
  }
  return times;
}

void add_schedstat(std::string_view text, CpuTimes& times) {
  while (!text.empty()) {
    const auto line = parse_line(take_line(text));
    if (!line || line->values.size() < 8) continue;
    const auto found = times.find(line->cpu);
    if (found == times.end()) continue;
    // Seventh and eighth of each version of the format since 2.6.
    found->second.run_ns = line->values[6];
    found->second.wait_ns = line->values[7];
  }
}

Result<CpuTimes> read_cpu_times(const std::string& proc) {
  CpuTimes times = parse_cpu_stat(TRY(read_kernel_file(proc + "/stat")));
  if (const auto schedstat = read_kernel_file(proc + "/schedstat")) {
    add_schedstat(*schedstat, times);
  }
  return times;
}

}  // namespace corehold
