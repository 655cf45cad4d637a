// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/svg_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace corehold {
namespace {

using Kind = Box::Kind;
using Order = std::array<Kind, 3>;

// Outermost first; the first order that splits no box is the one drawn.
constexpr std::array<Order, 6> kOrders{{{Kind::kSocket, Kind::kNode, Kind::kUncore},
                                        {Kind::kNode, Kind::kSocket, Kind::kUncore},
                                        {Kind::kSocket, Kind::kUncore, Kind::kNode},
                                        {Kind::kUncore, Kind::kSocket, Kind::kNode},
                                        {Kind::kNode, Kind::kUncore, Kind::kSocket},
                                        {Kind::kUncore, Kind::kNode, Kind::kSocket}}};

// How the children of a kind of box are arranged.
struct Arrangement {
  int padding;   // between the border and what is inside
  int gap;       // between children
  double ratio;  // width over height to aim at
};

Arrangement arrangement_of(Kind kind) {
  switch (kind) {
    case Kind::kMachine:
      return {.padding = 0, .gap = 16, .ratio = 1.7};
    case Kind::kCore:
      return {.padding = 3, .gap = 2, .ratio = 4.0};
    case Kind::kUncore:
      return {.padding = 9, .gap = 6, .ratio = 1.6};
    default:
      return {.padding = 10, .gap = 10, .ratio = 1.6};
  }
}

Slot slot_of(const Core& core, Kind kind) {
  if (kind == Kind::kSocket) return core.socket;
  return kind == Kind::kNode ? core.node : core.uncore;
}

const CpuSet& cpus_of(const Topology& topology, Kind kind, Slot slot) {
  if (kind == Kind::kSocket) return topology.socket(slot).cpus;
  return kind == Kind::kNode ? topology.node(slot).cpus : topology.uncore(slot).cpus;
}

std::string name_of(const Topology& topology, Kind kind, Slot slot) {
  if (kind == Kind::kSocket) return fmt::format("Socket {}", topology.socket(slot).id.value);
  if (kind == Kind::kNode) return fmt::format("NUMA {}", topology.node(slot).id.value);
  return fmt::format("L3 {}", topology.uncore(slot).id.value);
}

// What stands in for an L3 cache is no box of the picture.
bool is_drawn(const Topology& topology, Kind kind, Slot slot) {
  return kind != Kind::kUncore || topology.is_l3(slot);
}

// Whether drawing in this order cuts a socket, node or cache in two.
bool splits(const Topology& topology, const Order& order) {
  std::map<std::pair<Kind, Slot>, std::pair<Slot, Slot>> parents;
  for (const Core& core : topology.cores()) {
    const Slot outer = slot_of(core, order[0]);
    const Slot middle = slot_of(core, order[1]);
    const std::pair around_middle{outer, Slot{0}};
    const std::pair around_inner{outer, middle};
    const Slot inner = slot_of(core, order[2]);
    const auto cuts = [&](Kind kind, Slot slot, const std::pair<Slot, Slot>& around) {
      return is_drawn(topology, kind, slot) &&
             parents.try_emplace({kind, slot}, around).first->second != around;
    };
    if (cuts(order[1], middle, around_middle) || cuts(order[2], inner, around_inner)) return true;
  }
  return false;
}

Box core_box(const Core& core) {
  Box box{.kind = Kind::kCore, .tip = fmt::format("core {}", core.id.value)};
  for (const CpuId cpu : core.cpus) {
    box.children.push_back({.kind = Kind::kOneCpu, .label = std::to_string(cpu.value), .cpu = cpu});
  }
  return box;
}

// The boxes of level `depth` and below that hold `cores`.
std::vector<Box> boxes_for(const Topology& topology, const std::vector<const Core*>& cores,
                           const Order& order, std::size_t depth) {
  std::vector<Box> boxes;
  if (depth == order.size()) {
    for (const Core* core : cores) boxes.push_back(core_box(*core));
    return boxes;
  }
  std::map<Slot, std::vector<const Core*>> groups;
  for (const Core* core : cores) groups[slot_of(*core, order[depth])].push_back(core);
  for (const auto& [slot, members] : groups) {
    std::vector<Box> children = boxes_for(topology, members, order, depth + 1);
    if (!is_drawn(topology, order[depth], slot)) {
      std::move(children.begin(), children.end(), std::back_inserter(boxes));
      continue;
    }
    CpuSet cpus;
    for (const Core* core : members) {
      for (const CpuId cpu : core->cpus) cpus.insert(cpu);
    }
    const std::string name = name_of(topology, order[depth], slot);
    const bool whole = cpus == cpus_of(topology, order[depth], slot);
    boxes.push_back({.kind = order[depth],
                     .label = whole ? name : name + " (part)",
                     .detail = fmt::format("{} CPU{}", cpus.size(), cpus.size() == 1 ? "" : "s"),
                     .tip = fmt::format("{}: CPUs {}", name, cpus.str()),
                     .children = std::move(children)});
  }
  return boxes;
}

// What a last row with gaps costs, beside its waste: 8 x 8 cores read better than 7 x 10.
constexpr double kRagged = 0.5;

struct Size {
  int width;
  int height;
};

// Places the children in rows no wider than `limit`, from the corner of `box`.
Size flow(std::vector<Box>& children, int limit, int gap) {
  int x = 0;
  int y = 0;
  int row_height = 0;
  Size used{.width = 0, .height = 0};
  for (Box& child : children) {
    if (x > 0 && x + child.at.width > limit) {
      y += row_height + gap;
      x = 0;
      row_height = 0;
    }
    child.at.x = x;
    child.at.y = y;
    x += child.at.width + gap;
    row_height = std::max(row_height, child.at.height);
    used.width = std::max(used.width, x - gap);
    used.height = y + row_height;
  }
  return used;
}

// The limit whose rows come closest to the ratio; rows that are all full count for more.
int best_limit(std::vector<Box>& children, const Arrangement& arrangement) {
  int best = 0;
  double best_score = 0;
  int limit = -arrangement.gap;
  for (std::size_t i = 0; i < children.size(); ++i) {
    limit += children[i].at.width + arrangement.gap;
    if (best > 0 && limit > 8 * best) break;
    const Size size = flow(children, limit, arrangement.gap);
    double area = 0;
    for (const Box& child : children) {
      area += double(child.at.width + arrangement.gap) * (child.at.height + arrangement.gap);
    }
    const double whole = double(size.width + arrangement.gap) * (size.height + arrangement.gap);
    const double ratio = double(size.width) / size.height;
    const double waste = 1.0 - area / whole;
    const double score = std::abs(std::log(ratio / arrangement.ratio)) + 2.0 * waste +
                         (waste > 1e-6 ? kRagged : 0.0);
    if (best == 0 || score < best_score - 1e-9) {
      best = limit;
      best_score = score;
    }
  }
  return best;
}

int label_height(const Box& box) { return box.label.empty() ? 0 : kLabelFont + 9; }

void measure(Box& box, int cell_width) {
  if (box.kind == Kind::kOneCpu) {
    box.at.width = cell_width;
    box.at.height = 22;
    return;
  }
  if (box.kind == Kind::kMemoryNode) {
    box.at.width = text_width(box.label, kLabelFont) + 20;
    box.at.height = 34;
    return;
  }
  for (Box& child : box.children) measure(child, cell_width);
  const Arrangement arrangement = arrangement_of(box.kind);
  // Siblings stand side by side, four to a row; everything else is packed.
  const int limit = box.kind == Kind::kCore ? 4 * (cell_width + arrangement.gap)
                                            : best_limit(box.children, arrangement);
  const Size size = flow(box.children, limit, arrangement.gap);
  const int label = box.label.empty() ? 0 : text_width(box.label, kLabelFont);
  for (Box& child : box.children) {
    child.at.x += arrangement.padding;
    child.at.y += arrangement.padding + label_height(box);
  }
  box.at.width = std::max(size.width, label) + 2 * arrangement.padding;
  box.at.height = size.height + 2 * arrangement.padding + label_height(box);
}

// From positions inside the parent to positions in the picture.
void move_by(Box& box, int x, int y) {
  box.at.x += x;
  box.at.y += y;
  for (Box& child : box.children) move_by(child, box.at.x, box.at.y);
}

}  // namespace

Box layout_machine(const Topology& topology, int x, int y) {
  const auto whole = std::find_if(kOrders.begin(), kOrders.end(),
                                  [&](const Order& order) { return !splits(topology, order); });
  const Order& order = whole == kOrders.end() ? kOrders.front() : *whole;
  std::vector<const Core*> cores;
  for (const Core& core : topology.cores()) cores.push_back(&core);
  Box machine{.kind = Kind::kMachine, .children = boxes_for(topology, cores, order, 0)};
  for (const NodeId node : topology.memory_nodes()) {
    machine.children.push_back({.kind = Kind::kMemoryNode,
                                .label = fmt::format("NUMA {}: memory only", node.value),
                                .tip = fmt::format("NUMA {} has no CPUs", node.value)});
  }
  const std::string longest = std::to_string(topology.cpus().last().value);
  measure(machine, std::max(26, text_width(longest, kCpuFont) + 8));
  move_by(machine, x, y);
  return machine;
}

}  // namespace corehold
