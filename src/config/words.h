// SPDX-License-Identifier: Apache-2.0
//
// Words in messages: long ones cut short, mistyped ones answered with the right one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corehold {

// The text, or so many bytes of it as a person would type and "..."; characters stay whole.
std::string clipped(std::string_view text, std::size_t longest = 64);

// The word of `known` that `text` was probably meant to be: the same but for case, or one
// or two letters off (wrong, missing, extra, swapped). The first of equally good ones.
std::optional<std::string_view> nearest(std::string_view text,
                                        std::span<const std::string_view> known);

// "; did you mean WORD?" or "", for the end of a message.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> known);

}  // namespace corehold
