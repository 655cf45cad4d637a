// SPDX-License-Identifier: Apache-2.0
#include "config/field.h"

#include <fmt/format.h>

#include "config/words.h"

namespace corehold {

void report_unknown(const Node& node, std::string_view name,
                    std::span<const std::string_view> known, UnknownField unknown,
                    Reading& reading) {
  if (unknown == UnknownField::kNote) {
    return reading.note(node, "kubelet field without effect here" + did_you_mean(name, known));
  }
  const std::string hint = did_you_mean(name, known);
  reading.mistake(
      node, "is not a known field" +
                (hint.empty() ? fmt::format("; there are {}", fmt::join(known, ", ")) : hint));
}

}  // namespace corehold
