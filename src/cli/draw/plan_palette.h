// SPDX-License-Identifier: Apache-2.0
//
// Colours for the owners of CPUs. Chosen so that neighbours in the list differ in
// lightness as well as in hue, for readers who see fewer hues, and the number in a cell
// stands out from its colour (4.5 to 1 at least).
#pragma once

#include <cstddef>

#include "cli/draw/topology_svg.h"

namespace corehold {

// So many owners look different: 16 colours, plain, framed and with a dashed frame, in three
// shades.
inline constexpr std::size_t kOwnerFills = 144;

// How to fill the CPUs of the index-th owner, paler those that it was not promised, without a
// label. Beyond kOwnerFills they
// start over.
Fill owner_fill(std::size_t index);

}  // namespace corehold
