// SPDX-License-Identifier: Apache-2.0
//
// Amounts of memory by kind, in either document.
#include <fmt/format.h>

#include "config/draft.h"

namespace corehold {

bool is_memory_resource(std::string_view name) {
  constexpr std::string_view kHuge = "hugepages-";
  if (name == "memory") return true;
  if (!name.starts_with(kHuge)) return false;
  const auto size = Quantity::parse(name.substr(kHuge.size()));
  return size && size->sign() > 0;
}

void read_node_memory(const Node& node, NodeMemory& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  for (const auto& [name, member] : node.members()) {
    if (!is_memory_resource(name)) {
      reading.mistake(member, fmt::format("the limit type {:?} is not supported, only [memory "
                                          "hugepages-<HugePageSize>] is accepted",
                                          name));
      continue;
    }
    reading.given(member);
    if (const auto bytes = bytes_of(member, reading)) into[name] = *bytes;
  }
}

}  // namespace corehold
