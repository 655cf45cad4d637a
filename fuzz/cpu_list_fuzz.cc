// SPDX-License-Identifier: Apache-2.0
//
// The kernel's list format: no text crashes, and what parses round-trips.
#include <cstdint>
#include <string_view>

#include "cpuset/cpu_set.h"
#include "cpuset/list_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corehold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ranges = parse_list(text);
  const auto set = CpuSet::parse(text);
  CHECK(ranges.has_value() || !set.has_value());
  if (ranges && (ranges->empty() || ranges->front().first >= 0)) {
    CHECK(*parse_list(format_list(*ranges)) == *ranges);
  }
  if (set) CHECK(*CpuSet::parse(set->str()) == *set && set->str() == format_list(*ranges));
  return 0;
}
