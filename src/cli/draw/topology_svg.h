// SPDX-License-Identifier: Apache-2.0
//
// A Topology as a picture: sockets, NUMA nodes, L3 caches and cores as nested boxes, a
// cell with its number for every CPU, a title and a legend. Who owns a CPU, or anything
// else worth a colour, comes in as a Paint. Pure; one self-contained SVG document with
// its own background, so that it reads on light and dark pages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace corehold {

// A way to fill CPU cells, and its entry in the legend.
struct Fill {
  std::string label;            // "shared", "db/pg-0 main"
  std::string color;            // of the cell: "#rrggbb"
  std::string ink = "#16233b";  // of the number in it; must stand out from color
  std::string detail{};         // after the label in the legend: "2-5"
  enum class Frame { kNone, kSolid, kDashed };
  Frame frame = Frame::kNone;  // where colours alone would not tell fills apart
  std::string pale{};          // of marked cells, instead of color; "": the same
};

struct CpuPaint {
  // A sign in the cell, whatever its colour, explained in the legend.
  enum class Mark {
    kNone,
    kGrown,    // held beyond what was promised: a filled corner
    kLeaving,  // to be given up: struck through
  };

  std::size_t fill = 0;  // position in Paint::fills
  std::string note{};    // added to the cell's tooltip
  Mark mark = Mark::kNone;
};

struct Paint {
  std::string title;                     // the line above the machine
  std::vector<Fill> fills;               // in the order of the legend; not empty
  std::map<CpuId, CpuPaint> cpus{};      // CPUs not named have the first fill
  std::vector<std::string> subtitles{};  // lines below the title, smaller
  std::vector<std::string> remarks{};    // each from a new line, below the legend
};

// Gives all `cpus` one fill, an index of `paint.fills`, and one note.
void paint_all(Paint& paint, const CpuSet& cpus, std::size_t fill, const std::string& note);

// Every CPU alike, under the machine's summary.
Paint plain_paint(const Topology& topology);

// Isolated CPUs are hatched whatever their fill. Several fills are listed in columns;
// what is too long for one is cut, names in the middle, and whole in its tooltip. Remarks are
// broken into lines. Text is escaped, colours are
// not checked. REQUIRES: every CpuPaint::fill < fills.size().
std::string render_topology_svg(const Topology& topology, const Paint& paint);

}  // namespace corehold
