// SPDX-License-Identifier: Apache-2.0
#include "topology/testing.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace corehold {
namespace {

struct Level {
  char letter;
  int count;
};

std::vector<Level> parse_shape(std::string_view shape) {
  std::vector<Level> levels;
  int count = 0;
  for (const char c : shape) {
    if (c >= '0' && c <= '9') {
      count = count * 10 + (c - '0');
      continue;
    }
    CHECK(std::string_view("snlct").find(c) != std::string_view::npos && count > 0);
    levels.push_back({.letter = c, .count = count});
    count = 0;
  }
  CHECK(!levels.empty() && count == 0);
  return levels;
}

bool has_level(const std::vector<Level>& levels, char letter) {
  for (const Level& level : levels) {
    if (level.letter == letter) return true;
  }
  return false;
}

}  // namespace

Topology machine(std::string_view shape, Numbering numbering) {
  const std::vector<Level> levels = parse_shape(shape);
  int total = 1;
  int threads = 1;
  for (const Level& level : levels) {
    total *= level.count;
    if (level.letter == 't') threads = level.count;
  }
  const int cores = total / threads;

  TopologyParts parts;
  for (int i = 0; i < total; ++i) {
    // The index of CPU i at each level, counted over the whole machine.
    std::array<int, 128> at{};
    int below = total;
    for (const Level& level : levels) {
      below /= level.count;
      at[static_cast<unsigned char>(level.letter)] = i / below;
    }
    if (!has_level(levels, 'n')) at['n'] = at['s'];
    if (!has_level(levels, 'l')) at['l'] = at['s'];
    const int core = i / threads;
    const int thread = i % threads;
    const int cpu = numbering == Numbering::kNeighbours ? i : core + thread * cores;
    parts.places.push_back({.cpu = CpuId(cpu),
                            .core = CoreId(core),
                            .socket = SocketId(at['s']),
                            .node = NodeId(at['n']),
                            .uncore = UncoreId(at['l'])});
  }
  auto made = Topology::make(std::move(parts));
  CHECK(made.has_value());
  return *std::move(made);
}

Topology without(const Topology& machine, const CpuSet& offline) {
  TopologyParts parts;
  for (const CpuPlace& place : machine.places()) {
    if (!offline.contains(place.cpu)) parts.places.push_back(place);
  }
  auto made = Topology::make(std::move(parts));
  CHECK(made.has_value());
  return *std::move(made);
}

CpuSet cpus(std::string_view list) {
  auto set = CpuSet::parse(list);
  CHECK(set.has_value());
  return *set;
}

NodeSet nodes(std::string_view list) {
  auto set = NodeSet::parse(list);
  CHECK(set.has_value());
  return *set;
}

Chance seeded_chance(std::uint64_t seed) {
  return [state = seed](int low, int high) mutable {
    // One step of splitmix64.
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(mixed % width);
  };
}

Topology with_random_distances(const Chance& chance, const Topology& machine) {
  TopologyParts parts{.places = machine.places()};
  for (const auto& from : machine.nodes()) {
    DistanceRow row{.from = from.id, .to = {}};
    for (const auto& to : machine.nodes()) {
      row.to.emplace_back(to.id, from.id == to.id ? 10 : chance(11, 40));
    }
    parts.distances.push_back(std::move(row));
  }
  auto made = Topology::make(std::move(parts));
  CHECK(made.has_value());
  return *std::move(made);
}

Topology random_machine(const Chance& chance, int most_cpus) {
  std::string shape;
  int left = most_cpus;
  const auto add = [&](char letter, int most) {
    const int count = chance(1, std::max(1, std::min(most, left)));
    left /= count;
    shape += fmt::format("{}{}", count, letter);
  };
  switch (chance(0, 3)) {
    case 0:
      add('s', 4);
      break;
    case 1:
      add('s', 3);
      add('n', 4);
      break;
    case 2:
      add('n', 3);
      add('s', 3);
      break;
    default:
      add('s', 2);
      add('n', 2);
      add('l', 4);
      break;
  }
  add('c', 8);
  add('t', 4);
  const auto numbering = chance(0, 1) == 0 ? Numbering::kNeighbours : Numbering::kThreadsFar;
  Topology whole = machine(shape, numbering);
  if (chance(0, 2) != 0 || whole.cpu_count() < 3) return whole;
  CpuSet offline;
  for (const CpuId cpu : whole.cpus()) {
    if (chance(0, 5) == 0) offline.insert(cpu);
  }
  if (offline == whole.cpus()) return whole;
  return without(whole, offline);
}

CpuSet random_subset(const Chance& chance, const Topology& machine, const CpuSet& from) {
  CpuSet subset;
  const int how = chance(0, 3);
  const int odds = chance(1, 4);
  if (how == 0) return from;
  if (how == 1) {
    for (const Core& core : machine.cores()) {
      if (chance(0, odds) == 0) continue;
      for (const CpuId cpu : core.cpus) subset.insert(cpu);
    }
    return subset & from;
  }
  for (const CpuId cpu : from) {
    if (chance(0, odds) != 0) subset.insert(cpu);
  }
  return subset;
}

}  // namespace corehold
