// SPDX-License-Identifier: Apache-2.0
//
// Where every box of the picture goes. A Topology becomes a tree of boxes, sized from
// the inside out and packed in rows so that no box grows much wider or taller than its
// neighbours; only then do boxes get positions.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/svg_writer.h"
#include "topology/topology.h"

namespace corehold {

struct Box {
  enum class Kind { kMachine, kSocket, kNode, kMemoryNode, kUncore, kCore, kOneCpu };

  Kind kind = Kind::kMachine;
  std::string label{};   // "NUMA 0"; empty for cores and the machine
  std::string detail{};  // "16 CPUs", shown where there is room
  std::string tip{};     // tooltip
  CpuId cpu{};           // of a kOneCpu
  Rect at{};
  std::vector<Box> children{};
};

// Font sizes, in pixels at natural size.
inline constexpr int kCpuFont = 11;
inline constexpr int kLabelFont = 12;
inline constexpr int kDetailFont = 10;

// The machine as nested boxes, positioned with its corner at (x, y). Levels nest as the
// machine does: sockets hold NUMA nodes or NUMA nodes sockets, and an L3 cache that
// spans NUMA nodes is drawn around them; CPUs without one get no such box. Where two levels overlap
// without nesting, the inner one is drawn in parts, each labelled "part".
Box layout_machine(const Topology& topology, int x, int y);

}  // namespace corehold
