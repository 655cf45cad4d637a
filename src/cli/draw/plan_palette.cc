// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/plan_palette.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace corehold {
namespace {

struct Color {
  std::uint32_t fill;  // 0xrrggbb
  const char* ink;
};

constexpr const char* kDark = "#16233b";
constexpr const char* kLight = "#ffffff";

// Bright ones for dark numbers, alternating in lightness; then deep ones for light numbers.
constexpr std::array<Color, 16> kColors{{
    {0x6fa8dc, kDark},
    {0xf4d35e, kDark},
    {0x3fb598, kDark},
    {0xf7b2c4, kDark},
    {0xee8a5f, kDark},
    {0xa6dff5, kDark},
    {0xb3a2e0, kDark},
    {0xc3d34b, kDark},
    {0x1f4e96, kLight},
    {0x9c3a1e, kLight},
    {0x146b57, kLight},
    {0x8a2f6b, kLight},
    {0x5a5f12, kLight},
    {0x463a86, kLight},
    {0x6b4327, kLight},
    {0x2b5563, kLight},
}};

constexpr std::size_t kFrames = 3;
constexpr std::uint32_t kPaler = 4;   // tenths, of CPUs that were not promised
constexpr std::uint32_t kPalest = 9;  // of ten: some colour is left
static_assert(kOwnerFills % (kColors.size() * kFrames) == 0);

// Away from its ink, so that numbers stand out all the more: bright ones brighter, deep ones
// deeper, `tenths` of the way.
std::string shaded(const Color& color, std::uint32_t tenths) {
  const std::uint32_t target = color.ink == kDark ? 255U : 0U;
  std::uint32_t mixed = 0;
  for (const unsigned shift : {16U, 8U, 0U}) {
    const std::uint32_t part = (color.fill >> shift) & 0xFFU;
    mixed |= ((part * (10U - tenths) + target * tenths) / 10U) << shift;
  }
  return fmt::format("#{:06x}", mixed);
}

}  // namespace

Fill owner_fill(std::size_t index) {
  const Color& color = kColors[index % kColors.size()];
  const std::size_t round = index % kOwnerFills / kColors.size();
  const auto tenths = 3 * static_cast<std::uint32_t>(round / kFrames);
  return {.label = "",
          .color = shaded(color, tenths),
          .ink = color.ink,
          .frame = static_cast<Fill::Frame>(round % kFrames),
          .pale = shaded(color, std::min(tenths + kPaler, kPalest))};
}

}  // namespace corehold
