// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr int kLocalDistance = 10;
constexpr int kRemoteDistance = 20;

Error invalid(std::string message) { return Error{Code::kInvalid, std::move(message)}; }

Result<void> check_places(const std::vector<CpuPlace>& places) {
  if (places.empty()) return invalid("a machine needs at least one CPU");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CpuPlace& place = places[i];
    if (!CpuSet::can_hold(place.cpu.value)) {
      return invalid(fmt::format("CPU {} is outside 0 to {}, the most this build can hold",
                                 place.cpu.value, kMaxCpus - 1));
    }
    if (!NodeSet::can_hold(place.node.value)) {
      return invalid(fmt::format("NUMA node {} of CPU {} is outside 0 to {}", place.node.value,
                                 place.cpu.value, kMaxNodes - 1));
    }
    if (place.core.value < 0 || place.socket.value < 0 || place.uncore.value < 0) {
      return invalid(fmt::format("CPU {} has a negative core, socket or L3 id", place.cpu.value));
    }
    if (i > 0 && places[i - 1].cpu == place.cpu) {
      return invalid(fmt::format("CPU {} is listed twice (NUMA nodes {} and {})", place.cpu.value,
                                 places[i - 1].node.value, place.node.value));
    }
  }
  return {};
}

Result<void> check_cores(const std::vector<CpuPlace>& places) {
  std::map<CoreId, const CpuPlace*> first_of_core;
  for (const CpuPlace& place : places) {
    const CpuPlace& first = *first_of_core.try_emplace(place.core, &place).first->second;
    const auto spans = [&](const char* what, int one, int other) {
      return invalid(fmt::format("core {} spans two {}: CPU {} is in {}, CPU {} in {}",
                                 place.core.value, what, first.cpu.value, one, place.cpu.value,
                                 other));
    };
    if (first.socket != place.socket) {
      return spans("sockets", first.socket.value, place.socket.value);
    }
    if (first.node != place.node) return spans("NUMA nodes", first.node.value, place.node.value);
    if (first.uncore != place.uncore) {
      return spans("L3 caches", first.uncore.value, place.uncore.value);
    }
  }
  return {};
}

Result<void> check_caches(const std::vector<CpuPlace>& places, const CpuSet& without_l3) {
  std::map<UncoreId, const CpuPlace*> first_of_uncore;
  for (const CpuPlace& place : places) {
    const CpuPlace& first = *first_of_uncore.try_emplace(place.uncore, &place).first->second;
    if (without_l3.contains(first.cpu) == without_l3.contains(place.cpu)) continue;
    const bool first_lacks = without_l3.contains(first.cpu);
    return invalid(fmt::format("uncore {} is an L3 cache for CPU {} but not for CPU {}",
                               place.uncore.value, (first_lacks ? place : first).cpu.value,
                               (first_lacks ? first : place).cpu.value));
  }
  return {};
}

// Slots of the distinct ids of `key(place)` over all places, ascending.
template <typename Key>
auto slots_by_id(const std::vector<CpuPlace>& places, Key key) {
  std::map<decltype(key(places.front())), Slot> slots;
  for (const CpuPlace& place : places) slots.emplace(key(place), 0);
  Slot next = 0;
  for (auto& [id, slot] : slots) slot = next++;
  return slots;
}

void add_slot(std::vector<Slot>& slots, Slot slot) {
  const auto at = std::lower_bound(slots.begin(), slots.end(), slot);
  if (at == slots.end() || *at != slot) slots.insert(at, slot);
}

template <typename IdType, typename Slots>
std::vector<Domain<IdType>> empty_domains(const Slots& slots) {
  std::vector<Domain<IdType>> domains(slots.size());
  for (const auto& [id, slot] : slots) domains[static_cast<std::size_t>(slot)].id = id;
  return domains;
}

struct Slots {
  Slot core, uncore, node, socket;
};

template <typename IdType>
void add_place(Domain<IdType>& domain, CpuId cpu, const Slots& slots) {
  domain.cpus.insert(cpu);
  ++domain.size;
  add_slot(domain.cores, slots.core);
  add_slot(domain.uncores, slots.uncore);
  add_slot(domain.nodes, slots.node);
  add_slot(domain.sockets, slots.socket);
}

template <typename Items, typename Size>
bool all_equal(const Items& items, Size size) {
  return std::all_of(items.begin(), items.end(),
                     [&](const auto& item) { return size(item) == size(items.front()); });
}

}  // namespace

Result<Topology> Topology::make(TopologyParts parts) {
  std::vector<CpuPlace>& places = parts.places;
  std::stable_sort(places.begin(), places.end(),
                   [](const CpuPlace& a, const CpuPlace& b) { return a.cpu < b.cpu; });
  TRY(check_places(places));
  TRY(check_cores(places));
  TRY(check_caches(places, parts.without_l3));

  Topology topology;
  const auto core_slots = slots_by_id(places, [](const CpuPlace& p) { return p.core; });
  const auto uncore_slots = slots_by_id(places, [](const CpuPlace& p) { return p.uncore; });
  const auto node_slots = slots_by_id(places, [](const CpuPlace& p) { return p.node; });
  const auto socket_slots = slots_by_id(places, [](const CpuPlace& p) { return p.socket; });
  topology.cores_.resize(core_slots.size());
  topology.uncores_ = empty_domains<UncoreId>(uncore_slots);
  topology.nodes_ = empty_domains<NodeId>(node_slots);
  topology.sockets_ = empty_domains<SocketId>(socket_slots);

  const auto numbers = static_cast<std::size_t>(places.back().cpu.value) + 1;
  topology.core_of_.assign(numbers, -1);
  topology.place_of_.assign(numbers, -1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CpuPlace& place = places[i];
    const Slots slots{.core = core_slots.at(place.core),
                      .uncore = uncore_slots.at(place.uncore),
                      .node = node_slots.at(place.node),
                      .socket = socket_slots.at(place.socket)};
    const auto number = static_cast<std::size_t>(place.cpu.value);
    topology.cpus_.insert(place.cpu);
    topology.core_of_[number] = slots.core;
    topology.place_of_[number] = static_cast<Slot>(i);
    Core& core = topology.cores_[static_cast<std::size_t>(slots.core)];
    core.id = place.core;
    core.cpus.push_back(place.cpu);
    core.socket = slots.socket;
    core.node = slots.node;
    core.uncore = slots.uncore;
    add_place(topology.uncores_[static_cast<std::size_t>(slots.uncore)], place.cpu, slots);
    add_place(topology.nodes_[static_cast<std::size_t>(slots.node)], place.cpu, slots);
    add_place(topology.sockets_[static_cast<std::size_t>(slots.socket)], place.cpu, slots);
  }

  const auto core_size = [](const Core& core) { return core.size(); };
  const auto domain_size = [](const auto& domain) { return domain.size; };
  topology.cores_are_alike_ = all_equal(topology.cores_, core_size);
  topology.is_regular_ = topology.cores_are_alike_ && all_equal(topology.sockets_, domain_size) &&
                         all_equal(topology.uncores_, domain_size);
  for (const Core& core : topology.cores_) {
    topology.threads_per_core_ = std::max(topology.threads_per_core_, core.size());
  }
  topology.places_ = std::move(places);
  topology.isolated_ = parts.isolated & topology.cpus_;
  topology.nohz_full_ = parts.nohz_full & topology.cpus_;
  topology.without_l3_ = parts.without_l3 & topology.cpus_;
  topology.memory_nodes_ = parts.memory_nodes;
  for (const auto& node : topology.nodes_) topology.memory_nodes_.erase(node.id);
  topology.distances_ = std::move(parts.distances);
  topology.memory_ = std::move(parts.memory);
  return topology;
}

const CpuPlace& Topology::place(CpuId cpu) const {
  CHECK(cpus_.contains(cpu));
  return places_[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(cpu.value)])];
}

std::vector<Slot> Topology::l3_caches() const {
  std::vector<Slot> slots;
  for (Slot slot = 0; slot < static_cast<Slot>(uncores_.size()); ++slot) {
    if (is_l3(slot)) slots.push_back(slot);
  }
  return slots;
}

CpuSet Topology::cpus_in(const NodeSet& nodes) const {
  CpuSet cpus;
  for (const auto& node : nodes_) {
    if (nodes.contains(node.id)) cpus |= node.cpus;
  }
  return cpus;
}

NodeSet Topology::nodes_of(const CpuSet& cpus) const {
  NodeSet nodes;
  for (const auto& node : nodes_) {
    if (node.cpus.intersects(cpus)) nodes.insert(node.id);
  }
  return nodes;
}

CpuSet Topology::whole_cores_touching(const CpuSet& cpus) const {
  CpuSet whole = cpus;
  for (const CpuId cpu : (cpus & cpus_)) {
    for (const CpuId sibling : core(core_of(cpu)).cpus) whole.insert(sibling);
  }
  return whole;
}

CpuSet Topology::whole_cores_within(const CpuSet& cpus) const {
  CpuSet whole;
  for (const CpuId cpu : (cpus & cpus_)) {
    const Core& own = core(core_of(cpu));
    if (own.cpus.front() != cpu) continue;
    const bool inside = std::all_of(own.cpus.begin() + 1, own.cpus.end(),
                                    [&](CpuId sibling) { return cpus.contains(sibling); });
    if (!inside) continue;
    for (const CpuId sibling : own.cpus) whole.insert(sibling);
  }
  return whole;
}

int Topology::count_whole_cores(const CpuSet& cpus) const {
  int count = 0;
  for (const CpuId cpu : whole_cores_within(cpus)) {
    if (core(core_of(cpu)).cpus.front() == cpu) ++count;
  }
  return count;
}

int Topology::distance(NodeId from, NodeId to) const {
  for (const DistanceRow& row : distances_) {
    if (row.from != from) continue;
    for (const auto& [node, value] : row.to) {
      if (node == to) return value;
    }
  }
  return from == to ? kLocalDistance : kRemoteDistance;
}

}  // namespace corehold
