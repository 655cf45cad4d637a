// SPDX-License-Identifier: Apache-2.0
//
// hwloc's synthetic language: no text crashes, hangs or fills memory, and what is
// accepted is within the limits.
#include <cstdint>
#include <string_view>

#include "discover/hwloc_source.h"
#include "discover/synthetic_text.h"

// hwloc 2.9 loses a few bytes per "[numa]" of a description it refuses; the leak is not
// ours and a process sees few descriptions.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name LeakSanitizer asks for
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc\n"; }

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
