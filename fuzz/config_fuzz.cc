// SPDX-License-Identifier: Apache-2.0
//
// Configurations: no text crashes, mistakes are in the order of their lines and name lines
// that exist, the same text gives the same answer, and what has no mistakes keeps what a
// Config promises.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "config/read_config.h"

namespace {

using namespace corehold;

void check_remarks(const std::vector<ConfigRemark>& remarks, int lines) {
  int last = 0;
  for (const ConfigRemark& remark : remarks) {
    CHECK(remark.line >= last && remark.line <= lines);
    CHECK(!remark.message.empty() && remark.message.size() < 2'000);
    last = remark.line;
  }
}

void check_config(const Config& config) {
  const bool is_static = config.cpu_manager_policy == CpuManagerPolicy::kStatic;
  CHECK(!is_static || config.reserved_count > 0);
  CHECK(is_static || options_on(config.static_options).empty());
  CHECK(config.reserved_cpus.empty() || config.reserved_count == config.reserved_cpus.size());
  CHECK(config.static_options.min_shared_cpus >= 1);
  CHECK(config.static_options.scale_delay.count() == 0 ||
        config.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus));
  CHECK(config.reconcile_period.count() > 0 && config.sync_frequency.count() > 0);
  CHECK(config.topology.max_numa_nodes >= 8);
  CHECK(config.gates.is_on(Gate::kCpuManager));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // yaml-cpp counts a lone carriage return as a line too.
  const auto lines = static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }));
  const CheckedConfig checked = read_config(text);
  check_remarks(checked.mistakes, lines + 1);
  check_remarks(checked.notes, lines + 1);
  const CheckedConfig again = read_config(text);
  CHECK(again.mistakes == checked.mistakes && again.notes == checked.notes);
  if (checked.mistakes.empty()) check_config(checked.config);
  return 0;
}
