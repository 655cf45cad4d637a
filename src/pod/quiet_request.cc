// SPDX-License-Identifier: Apache-2.0
#include "pod/quiet_request.h"

#include <fmt/format.h>

namespace corehold {

Result<CpuPartition> parse_quiet(std::string_view text) {
  if (text == "partition") return CpuPartition::kIsolated;
  return Error{Code::kInvalid,
               fmt::format(R"({:?} is not known; write "partition", or leave the annotation out)",
                           text.substr(0, 32))};
}

CpuPartition partition_of(const std::map<std::string, std::string>& annotations) {
  const auto found = annotations.find(kQuietAnnotation);
  if (found == annotations.end()) return CpuPartition::kNone;
  const auto parsed = parse_quiet(found->second);
  return parsed ? *parsed : CpuPartition::kNone;
}

}  // namespace corehold
