// SPDX-License-Identifier: Apache-2.0
//
// hwloc's synthetic language: no text crashes, hangs or fills memory, and what is
// accepted is within the limits.
#include <cstdint>
#include <string_view>

#include "discover/hwloc_source.h"
#include "discover/synthetic_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corehold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plain = normalize_synthetic(text);
  if (plain) {
    const auto again = normalize_synthetic(*plain);
    CHECK(again.has_value() && *again == *plain);
  }
  const auto machine = topology_from_synthetic(text);
  CHECK(plain.has_value() || !machine.has_value());
  if (machine) CHECK(machine->cpu_count() >= 1 && machine->cpu_count() <= kMaxCpus);
  return 0;
}
