// SPDX-License-Identifier: Apache-2.0
//
// Quantities: no text crashes or takes long, what parses prints as text that parses
// to the same number, and sums can be undone. A newline separates two quantities.
#include <cstdint>
#include <string_view>

#include "pod/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corehold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = text.find('\n');
  const auto a = Quantity::parse(text.substr(0, newline));
  if (!a) return 0;
  const auto again = Quantity::parse(a->str());
  CHECK(again.has_value() && *again == *a && again->str() == a->str());
  CHECK(a->is_integral_cpu() || a->milli_value() % 1000 != 0 || a->sign() < 0);
  if (newline == std::string_view::npos) return 0;
  const auto b = Quantity::parse(text.substr(newline + 1));
  if (!b) return 0;
  CHECK((*a + *b) - *b == *a && *a + *b == *b + *a);
  CHECK(((*a - *b).sign() < 0) == (*a < *b) && (*a == *b) == (*a <=> *b == 0));
  return 0;
}
