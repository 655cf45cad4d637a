// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit digest of texts, to notice damage. It is no protection against an attacker.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace corehold {

// Of all texts in their order: ("ab", "c") and ("a", "bc") differ.
std::uint64_t digest_of(std::initializer_list<std::string_view> texts);

}  // namespace corehold
