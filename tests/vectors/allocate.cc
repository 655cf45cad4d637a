// SPDX-License-Identifier: Apache-2.0
//
// Family allocate: one call of the kubelet's allocation, packed or distributed.
#include <algorithm>

#include <fmt/format.h>

#include "alloc/take.h"
#include "exceptions.h"
#include "family.h"
#include "fields.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

Result<TakeOptions> options_of(const json::object& line) {
  const bool across_numa = TRY(text_of(line, "fn")) == "distributed";
  const bool spread = TRY(text_of(line, "sort")) == "spread";
  const std::int64_t group = TRY(number_of(line, "cpuGroupSize"));
  const bool uncore = TRY(flag_of(line, "preferAlignByUncoreCache"));
  const bool align = TRY(flag_of(line, "alignBySocket"));
  return TakeOptions{.order = spread ? CpuOrder::kSpread : CpuOrder::kPacked,
                     .prefer_uncore = uncore && !across_numa,
                     .across_numa = across_numa,
                     .group_size = static_cast<int>(std::clamp<std::int64_t>(group, 1, kMaxCpus)),
                     .align_by_socket = align};
}

// Which exception the line may fall under when the answers differ; "" for none.
Result<std::string_view> exception_of(const json::object& line, const Topology& topology,
                                      const CpuSet& available, const CpuSet& expected) {
  if (TRY(flag_of(line, "hang"))) return kHang;
  if (!expected.is_subset_of(available)) return kOutside;
  if (TRY(flag_of(line, "dependsOnSliceAliasing"))) return kSliceAliasing;
  if (!topology.is_regular()) return kIrregular;
  return std::string_view();
}

}  // namespace

Result<Verdict> judge_allocate(const json::object& line, const Machines& machines) {
  const Topology& topology = *TRY(machine_of(line, machines));
  const CpuSet available = TRY(cpus_of(line, "available"));
  const auto count = static_cast<int>(TRY(number_of(line, "n")));
  const CpuSet expected = TRY(cpus_of(line, "result"));
  const std::string expected_error = TRY(text_of(line, "error"));
  const bool hangs = TRY(flag_of(line, "hang"));
  const auto taken = take_by_topology(topology, available, count, TRY(options_of(line)));

  const std::string wanted = expected_error.empty() ? expected.str() : "error: " + expected_error;
  const std::string got = taken ? taken->str() : "error: " + taken.error().message;
  if (!hangs && wanted == got) return Verdict::passed();
  const std::string_view exception = TRY(exception_of(line, topology, available, expected));
  if (exception.empty()) return Verdict::failed(wanted, got);
  // An exempt answer must be sound all the same.
  const bool enough = count <= (available & topology.cpus()).size();
  const bool sound =
      taken.has_value() == enough &&
      (!taken || (taken->size() == std::max(count, 0) && taken->is_subset_of(available)));
  if (!sound) return Verdict::failed(fmt::format("{} CPUs out of {}", count, available.str()), got);
  if (exception == kIrregular && !taken) return Verdict::failed(wanted, got);
  if (exception == kIrregular && expected_error.empty() &&
      topology.count_whole_cores(*taken) < topology.count_whole_cores(expected)) {
    return Verdict::failed(fmt::format("{}, or as many whole cores", wanted), got);
  }
  return Verdict::skipped(std::string(exception));
}

}  // namespace corehold::vectors
