// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_palette.h"

#include <array>

namespace corehold {
namespace {

struct Color {
  const char* fill;
  const char* ink;
};

constexpr const char* kDark = "#16233b";
constexpr const char* kLight = "#ffffff";

// Bright ones for dark numbers, alternating in lightness; then deep ones for light numbers.
constexpr std::array<Color, kOwnerFills / 2> kColors{{
    {"#6fa8dc", kDark},
    {"#f4d35e", kDark},
    {"#3fb598", kDark},
    {"#f7b2c4", kDark},
    {"#ee8a5f", kDark},
    {"#a6dff5", kDark},
    {"#b3a2e0", kDark},
    {"#c3d34b", kDark},
    {"#1f4e96", kLight},
    {"#9c3a1e", kLight},
    {"#146b57", kLight},
    {"#8a2f6b", kLight},
    {"#5a5f12", kLight},
    {"#463a86", kLight},
    {"#6b4327", kLight},
    {"#2b5563", kLight},
}};

}  // namespace

Fill owner_fill(std::size_t index) {
  const Color& color = kColors[index % kColors.size()];
  return {.label = "",
          .color = color.fill,
          .ink = color.ink,
          .framed = index % kOwnerFills >= kColors.size()};
}

}  // namespace corehold
