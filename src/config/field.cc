// SPDX-License-Identifier: Apache-2.0
#include "config/field.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/words.h"

namespace corehold {
namespace {

bool has_field(const std::vector<FieldLine>& lines, std::string_view name) {
  return std::any_of(lines.begin(), lines.end(),
                     [name](const FieldLine& line) { return line.path == name; });
}

}  // namespace

void report_unknown(const Node& node, std::string_view name,
                    std::span<const std::string_view> known, UnknownField unknown,
                    Reading& reading) {
  const bool is_top = node.path() == name;
  if (is_top && unknown == UnknownField::kNote && has_field(corehold_field_lines(), name)) {
    return reading.note(node,
                        "without effect here: it is a field of CoreholdConfiguration; put it into "
                        "a document of that kind");
  }
  if (is_top && unknown == UnknownField::kMistake && has_field(kubelet_field_lines(), name)) {
    return reading.mistake(node,
                           "is a field of KubeletConfiguration; put it into the document of that "
                           "kind");
  }
  if (unknown == UnknownField::kNote) {
    return reading.note(node, "kubelet field without effect here" + did_you_mean(name, known));
  }
  const std::string hint = did_you_mean(name, known);
  reading.mistake(
      node, "is not a known field" +
                (hint.empty() ? fmt::format("; there are {}", fmt::join(known, ", ")) : hint));
}

}  // namespace corehold
