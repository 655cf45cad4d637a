// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/topology_render.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

// "cores of 1 and 2 CPUs" where they are not all of one size.
template <typename Items, typename Size>
void note_sizes(std::vector<std::string>& notes, const Items& items, std::string_view name,
                Size size) {
  std::vector<int> sizes;
  sizes.reserve(items.size());
  for (const auto& item : items) sizes.push_back(size(item));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() < 2) return;
  std::string list;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == sizes.size() ? " and " : ", ") + std::to_string(sizes[i]);
  }
  notes.push_back(fmt::format("{} of {} CPUs", name, list));
}

std::string irregularities(const Topology& topology) {
  std::vector<std::string> notes;
  const auto domain_size = [](const auto& domain) { return domain.size; };
  note_sizes(notes, topology.cores(), "cores", [](const Core& core) { return core.size(); });
  note_sizes(notes, topology.l3_caches(), "L3 caches",
             [&](Slot cache) { return topology.uncore(cache).size; });
  note_sizes(notes, topology.nodes(), "NUMA nodes", domain_size);
  note_sizes(notes, topology.sockets(), "sockets", domain_size);
  return fmt::format("{}", fmt::join(notes, "; "));
}

std::vector<Row> header_rows(const Topology& topology) {
  std::vector<Row> rows{{"machine", summarize(topology)}, {"cpus", topology.cpus().str()}};
  if (!topology.isolated().empty()) rows.push_back({"isolated", topology.isolated().str()});
  if (!topology.memory_nodes().empty()) {
    rows.push_back({"memory only", "NUMA " + topology.memory_nodes().str()});
  }
  if (topology.distances().empty() && topology.nodes().size() > 1) {
    rows.push_back({"distances", "not given; 10 to itself and 20 to any other are assumed"});
  }
  if (topology.without_l3() == topology.cpus()) {
    rows.push_back({"l3", "none; each socket counts as one cache"});
  } else if (!topology.without_l3().empty()) {
    rows.push_back({"l3", fmt::format("none for CPUs {}; those of a socket count as one cache",
                                      topology.without_l3().str())});
  }
  const std::string uneven = irregularities(topology);
  if (!uneven.empty()) rows.push_back({"uneven", uneven});
  return rows;
}

// A row for each part of the machine with the same socket, NUMA node and L3 cache, or
// none.
std::vector<Row> place_rows(const Topology& topology) {
  struct Place {
    std::array<int, 3> key;  // socket, node, L3
    CpuSet cpus;
    CpuSet first_threads;
    bool has_l3;
  };
  std::vector<Place> parts;
  for (const Core& core : topology.cores()) {
    const std::array<int, 3> key{topology.socket(core.socket).id.value,
                                 topology.node(core.node).id.value,
                                 topology.uncore(core.uncore).id.value};
    auto at =
        std::lower_bound(parts.begin(), parts.end(), key,
                         [](const Place& part, const auto& wanted) { return part.key < wanted; });
    if (at == parts.end() || at->key != key)
      at = parts.insert(
          at, {.key = key, .cpus = {}, .first_threads = {}, .has_l3 = topology.is_l3(core.uncore)});
    for (const CpuId cpu : core.cpus) at->cpus.insert(cpu);
    at->first_threads.insert(core.cpus.front());
  }
  std::vector<Row> rows{{"SOCKET", "NUMA", "L3", "CORES", "CPUS"}};
  for (const Place& part : parts) {
    rows.push_back({std::to_string(part.key[0]), std::to_string(part.key[1]),
                    part.has_l3 ? std::to_string(part.key[2]) : "-",
                    std::to_string(part.first_threads.size()), part.cpus.str()});
  }
  return rows;
}

std::vector<Row> distance_rows(const Topology& topology) {
  std::vector<NodeId> nodes;
  for (const auto& node : topology.nodes()) nodes.push_back(node.id);
  for (const NodeId id : topology.memory_nodes()) nodes.push_back(id);
  std::sort(nodes.begin(), nodes.end());
  if (nodes.size() < 2 || topology.distances().empty()) return {};
  std::vector<Row> rows(1, Row{"DISTANCE"});
  for (const NodeId to : nodes) rows[0].push_back(std::to_string(to.value));
  for (const NodeId from : nodes) {
    Row row{fmt::format("NUMA {}", from.value)};
    for (const NodeId to : nodes) row.push_back(std::to_string(topology.distance(from, to)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string summarize(const Topology& topology) {
  const std::size_t nodes =
      topology.nodes().size() + static_cast<std::size_t>(topology.memory_nodes().size());
  const std::size_t caches = topology.l3_caches().size();
  std::string text = fmt::format("{}, {}, ", counted(topology.sockets().size(), "socket"),
                                 counted(nodes, "NUMA node"));
  if (caches > 0 && caches != topology.sockets().size() && caches != topology.nodes().size()) {
    text += counted(caches, "L3 cache") + ", ";
  }
  return text + fmt::format("{}, {}", counted(topology.cores().size(), "core"),
                            counted(topology.places().size(), "CPU"));
}

std::string render_topology_table(const Topology& topology) {
  std::string text = align(header_rows(topology), 2) + "\n" + align(place_rows(topology), 5);
  const auto distances = distance_rows(topology);
  if (!distances.empty()) text += "\n" + align(distances, 1);
  return text;
}

}  // namespace corehold
