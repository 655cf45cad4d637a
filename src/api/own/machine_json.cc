// SPDX-License-Identifier: Apache-2.0
#include "api/own/machine_json.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_read.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::object distances_from(const Topology& topology, NodeId from) {
  json::object row;
  for (const DistanceRow& known : topology.distances()) {
    if (known.from != from) continue;
    for (const auto& [to, distance] : known.to) row[fmt::to_string(to.value)] = distance;
  }
  return row;
}

json::object node_json(const Topology& topology, NodeId id, const CpuSet& cpus) {
  json::object node{{"id", id.value}, {"cpus", cpus.str()}};
  json::object distances = distances_from(topology, id);
  if (!distances.empty()) node["distances"] = std::move(distances);
  const auto memory = topology.memory().find(id);
  if (memory != topology.memory().end()) node["memory"] = json::value_from(memory->second);
  return node;
}

json::array nodes_json(const Topology& topology) {
  std::map<NodeId, CpuSet> all;
  for (const auto& node : topology.nodes()) all.emplace(node.id, node.cpus);
  for (const NodeId id : topology.memory_nodes()) all.emplace(id, CpuSet());
  json::array nodes;
  nodes.reserve(all.size());
  for (const auto& [id, cpus] : all) nodes.push_back(node_json(topology, id, cpus));
  return nodes;
}

Result<int> node_number(std::string_view text, const Path& path) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || number > kMaxNodes) return path.error("is no NUMA node's number");
    number = number * 10 + (c - '0');
  }
  if (text.empty()) return path.error("is no NUMA node's number");
  return number;
}

Result<void> read_distances(const json::object& node, NodeId from, const Path& path,
                            TopologyParts& parts) {
  const json::object* distances = TRY(object_field(node, path, "distances"));
  if (distances == nullptr) return {};
  DistanceRow row{.from = from, .to = {}};
  row.to.reserve(distances->size());
  for (const auto& member : *distances) {
    const Path at = path / "distances" / std::string_view(member.key());
    const int to = TRY(node_number(member.key(), at));
    row.to.emplace_back(NodeId(to), TRY(id_field(*distances, path / "distances", member.key())));
  }
  parts.distances.push_back(std::move(row));
  return {};
}

Result<void> read_memory(const json::object& node, NodeId id, const Path& path,
                         TopologyParts& parts) {
  const json::object* memory = TRY(object_field(node, path, "memory"));
  if (memory == nullptr) return {};
  NodeMemory& known = parts.memory[id];
  for (const auto& member : *memory) {
    known[std::string(member.key())] =
        TRY(integer_field(*memory, path / "memory", member.key(), 0));
  }
  return {};
}

Result<void> read_node(const json::value& value, const Path& path, TopologyParts& parts) {
  const json::object* node = TRY(as_object(value, path));
  const NodeId id(TRY(id_field(*node, path, "id")));
  if (!NodeSet::can_hold(id.value)) return (path / "id").error("is too large");
  const CpuSet cpus = TRY(cpus_field(*node, path, "cpus"));
  if (cpus.empty()) parts.memory_nodes.insert(id);
  TRY(read_distances(*node, id, path, parts));
  return read_memory(*node, id, path, parts);
}

Result<void> read_place(const json::value& value, const Path& path, TopologyParts& parts) {
  const json::object* object = TRY(as_object(value, path));
  const bool has_l3 = field(*object, "l3Cache") != nullptr;
  const CpuPlace place{
      .cpu = CpuId(TRY(id_field(*object, path, "cpu"))),
      .core = CoreId(TRY(id_field(*object, path, "core"))),
      .socket = SocketId(TRY(id_field(*object, path, "socket"))),
      .node = NodeId(TRY(id_field(*object, path, "numaNode"))),
      .uncore = UncoreId(TRY(id_field(*object, path, has_l3 ? "l3Cache" : "uncore")))};
  if (!CpuSet::can_hold(place.cpu.value)) return (path / "cpu").error("is too large");
  if (!has_l3) parts.without_l3.insert(place.cpu);
  parts.places.push_back(place);
  return {};
}

}  // namespace

json::object machine_json(const Topology& topology) {
  json::array places;
  places.reserve(topology.places().size());
  for (const CpuPlace& place : topology.places()) {
    const bool has_l3 = !topology.without_l3().contains(place.cpu);
    places.push_back({{"cpu", place.cpu.value},
                      {"core", place.core.value},
                      {"socket", place.socket.value},
                      {"numaNode", place.node.value},
                      {has_l3 ? "l3Cache" : "uncore", place.uncore.value}});
  }
  return {{"cpus", topology.cpus().str()},
          {"isolatedCpus", topology.isolated().str()},
          {"numaNodes", nodes_json(topology)},
          {"cpuPlaces", std::move(places)}};
}

Result<Topology> machine_from_json(const json::object& object, const Path& path) {
  TopologyParts parts;
  parts.isolated = TRY(cpus_field(object, path, "isolatedCpus"));
  if (const json::array* nodes = TRY(array_field(object, path, "numaNodes"))) {
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      TRY(read_node((*nodes)[i], path / "numaNodes" / i, parts));
    }
  }
  if (const json::array* places = TRY(array_field(object, path, "cpuPlaces"))) {
    parts.places.reserve(places->size());
    for (std::size_t i = 0; i < places->size(); ++i) {
      TRY(read_place((*places)[i], path / "cpuPlaces" / i, parts));
    }
  }
  auto topology = Topology::make(std::move(parts));
  if (!topology) return wrap(path.str(), topology.error());
  return topology;
}

}  // namespace corehold
