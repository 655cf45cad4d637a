// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/draw/topology_render.h"
#include "cli/json_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

template <typename Domains>
json::array ids_at(const Domains& domains, const std::vector<Slot>& slots) {
  json::array ids;
  for (const Slot slot : slots) ids.emplace_back(domains[static_cast<std::size_t>(slot)].id.value);
  return ids;
}

// Of the uncores in `slots`, those that are L3 caches.
json::array l3_ids_at(const Topology& topology, std::vector<Slot> slots) {
  std::erase_if(slots, [&](Slot slot) { return !topology.is_l3(slot); });
  return ids_at(topology.uncores(), slots);
}

std::string list_of(const std::vector<CpuId>& cpus) {
  CpuSet set;
  for (const CpuId cpu : cpus) set.insert(cpu);
  return set.str();
}

json::object distances_from(const Topology& topology, const std::vector<NodeId>& all, NodeId from) {
  json::object row;
  for (const NodeId to : all) row[fmt::format("{}", to.value)] = topology.distance(from, to);
  return row;
}

json::array nodes_json(const Topology& topology) {
  std::vector<NodeId> all;
  for (const auto& node : topology.nodes()) all.push_back(node.id);
  for (const NodeId id : topology.memory_nodes()) all.push_back(id);
  std::sort(all.begin(), all.end());
  json::array nodes;
  for (const NodeId id : all) {
    const auto found = std::find_if(topology.nodes().begin(), topology.nodes().end(),
                                    [&](const auto& node) { return node.id == id; });
    const Domain<NodeId> none{};
    const Domain<NodeId>& node = found == topology.nodes().end() ? none : *found;
    json::object entry{{"id", id.value},
                       {"cpus", node.cpus.str()},
                       {"sockets", ids_at(topology.sockets(), node.sockets)},
                       {"l3Caches", l3_ids_at(topology, node.uncores)},
                       {"distances", distances_from(topology, all, id)}};
    const auto memory = topology.memory().find(id);
    if (memory != topology.memory().end()) entry["memory"] = json::value_from(memory->second);
    nodes.push_back(std::move(entry));
  }
  return nodes;
}

json::object to_json(const Topology& topology) {
  json::array sockets;
  for (const auto& socket : topology.sockets()) {
    sockets.push_back({{"id", socket.id.value},
                       {"cpus", socket.cpus.str()},
                       {"numaNodes", ids_at(topology.nodes(), socket.nodes)},
                       {"l3Caches", l3_ids_at(topology, socket.uncores)}});
  }
  json::array caches;
  for (const Slot slot : topology.l3_caches()) {
    const auto& uncore = topology.uncore(slot);
    caches.push_back({{"id", uncore.id.value},
                      {"cpus", uncore.cpus.str()},
                      {"sockets", ids_at(topology.sockets(), uncore.sockets)},
                      {"numaNodes", ids_at(topology.nodes(), uncore.nodes)}});
  }
  json::array cores;
  for (const Core& core : topology.cores()) {
    cores.push_back({{"id", core.id.value}, {"cpus", list_of(core.cpus)}});
  }
  json::array places;
  for (const CpuPlace& place : topology.places()) {
    json::object entry{{"cpu", place.cpu.value},
                       {"core", place.core.value},
                       {"socket", place.socket.value},
                       {"numaNode", place.node.value}};
    if (!topology.without_l3().contains(place.cpu)) entry["l3Cache"] = place.uncore.value;
    places.push_back(std::move(entry));
  }
  json::array nodes = nodes_json(topology);
  json::object summary{{"sockets", sockets.size()},
                       {"numaNodes", nodes.size()},
                       {"l3Caches", caches.size()},
                       {"cores", cores.size()},
                       {"cpus", places.size()},
                       {"threadsPerCore", topology.threads_per_core()},
                       {"regular", topology.is_regular()},
                       {"distancesGiven", !topology.distances().empty()}};
  return json::object{{"summary", std::move(summary)},
                      {"cpus", topology.cpus().str()},
                      {"isolatedCpus", topology.isolated().str()},
                      {"sockets", std::move(sockets)},
                      {"numaNodes", std::move(nodes)},
                      {"l3Caches", std::move(caches)},
                      {"cores", std::move(cores)},
                      {"cpuPlaces", std::move(places)}};
}

}  // namespace

std::string render_topology_json(const Topology& topology) { return json_text(to_json(topology)); }

}  // namespace corehold
