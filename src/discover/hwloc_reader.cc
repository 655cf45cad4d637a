// SPDX-License-Identifier: Apache-2.0
#include "discover/hwloc_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "discover/numa_placement.h"

namespace corehold {
namespace {

constexpr unsigned kUnknown = HWLOC_UNKNOWN_INDEX;

Error invalid(std::string message) { return Error{Code::kInvalid, std::move(message)}; }

std::vector<hwloc_obj_t> objects_of(hwloc_topology_t loaded, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(loaded, type, object)) != nullptr;) {
    objects.push_back(object);
  }
  return objects;
}

// One CPU and the hwloc objects around it; null where there is none of the kind.
struct Found {
  int cpu;
  hwloc_obj_t core;
  hwloc_obj_t package;
  hwloc_obj_t l3;
};

Result<std::vector<Found>> find_cpus(hwloc_topology_t loaded) {
  const auto units = objects_of(loaded, HWLOC_OBJ_PU);
  if (units.size() > static_cast<std::size_t>(kMaxCpus)) {
    return Error{
        Code::kUnsupported,
        fmt::format("the machine has {} CPUs; the most supported is {}", units.size(), kMaxCpus)};
  }
  std::vector<Found> found;
  for (const hwloc_obj_t unit : units) {
    if (unit->os_index >= static_cast<unsigned>(kMaxCpus)) {
      return Error{Code::kUnsupported,
                   unit->os_index == kUnknown
                       ? std::string("a CPU has no number")
                       : fmt::format("CPU {} is outside 0 to {}, the most supported",
                                     unit->os_index, kMaxCpus - 1)};
    }
    found.push_back({.cpu = static_cast<int>(unit->os_index),
                     .core = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_CORE, unit),
                     .package = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_PACKAGE, unit),
                     .l3 = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_L3CACHE, unit)});
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.cpu < b.cpu; });
  return found;
}

// The lowest CPU of each object that `around` names.
template <typename Around>
auto lowest_cpus(const std::vector<Found>& cpus, Around around) {
  std::map<decltype(around(cpus.front())), int> lowest;
  for (const Found& found : cpus) lowest.try_emplace(around(found), found.cpu);
  return lowest;
}

// Ids of the groups: `own` where that gives every group a distinct number, else the
// group's lowest CPU.
template <typename Group, typename Own>
std::map<Group, int> ids_of(const std::map<Group, int>& lowest, Own own) {
  std::map<Group, int> ids;
  std::vector<int> used;
  for (const auto& [group, cpu] : lowest) {
    const unsigned number = own(group);
    if (number > static_cast<unsigned>(std::numeric_limits<int>::max())) return lowest;
    ids[group] = static_cast<int>(number);
    used.push_back(static_cast<int>(number));
  }
  std::sort(used.begin(), used.end());
  return std::adjacent_find(used.begin(), used.end()) == used.end() ? ids : lowest;
}

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
  CpuSet set;
  if (bitmap == nullptr) return set;
  for (int i = hwloc_bitmap_first(bitmap); i >= 0 && i < kMaxCpus;
       i = hwloc_bitmap_next(bitmap, i)) {
    set.insert(CpuId(i));
  }
  return set;
}

Result<NumaPlacement> find_nodes(hwloc_topology_t loaded, const CpuSet& online) {
  const auto objects = objects_of(loaded, HWLOC_OBJ_NUMANODE);
  if (objects.size() > static_cast<std::size_t>(kMaxNodes)) {
    return Error{Code::kUnsupported,
                 fmt::format("the machine has {} NUMA nodes; the most supported is {}",
                             objects.size(), kMaxNodes)};
  }
  std::vector<LocalNode> nodes;
  for (const hwloc_obj_t object : objects) {
    // A machine that shows no NUMA node has one without a number: node 0.
    const unsigned number =
        objects.size() == 1 && object->os_index == kUnknown ? 0 : object->os_index;
    if (number >= static_cast<unsigned>(kMaxNodes)) {
      return Error{Code::kUnsupported,
                   fmt::format("NUMA node {} is outside 0 to {}, the most supported", number,
                               kMaxNodes - 1)};
    }
    nodes.push_back({.id = NodeId(static_cast<int>(number)),
                     .cpus = to_cpu_set(object->cpuset) & online,
                     .memory = memory_named(object->subtype == nullptr ? "" : object->subtype)});
  }
  return place_in_nodes(nodes);
}

// "hugepages-2Mi": the largest binary unit that leaves a whole number.
std::string huge_page_resource(hwloc_uint64_t size) {
  constexpr std::array kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t unit = 0;
  for (; size != 0 && size % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("hugepages-{}{}", size, kUnits[unit]);
}

std::int64_t bytes_of(hwloc_uint64_t size, hwloc_uint64_t count) {
  constexpr auto kMost = static_cast<hwloc_uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(size != 0 && count > kMost / size ? kMost : size * count);
}

// The first type of page is the ordinary one; all others are huge.
NodeMemory memory_of(const hwloc_obj_attr_u::hwloc_numanode_attr_s& node) {
  NodeMemory memory;
  std::int64_t ordinary = bytes_of(node.local_memory, 1);
  for (unsigned i = 1; i < node.page_types_len; ++i) {
    const std::int64_t bytes = bytes_of(node.page_types[i].size, node.page_types[i].count);
    if (bytes == 0) continue;
    memory[huge_page_resource(node.page_types[i].size)] = bytes;
    ordinary -= std::min(ordinary, bytes);
  }
  memory["memory"] = ordinary;
  return memory;
}

// Of all nodes, or of none when the source does not tell.
MemoryInventory find_memory(hwloc_topology_t loaded) {
  MemoryInventory inventory;
  bool told = false;
  for (const hwloc_obj_t object : objects_of(loaded, HWLOC_OBJ_NUMANODE)) {
    if (object->attr == nullptr) return {};
    told = told || object->attr->numanode.local_memory != 0;
    const int number = object->os_index == kUnknown ? 0 : static_cast<int>(object->os_index);
    inventory[NodeId(number)] = memory_of(object->attr->numanode);
  }
  return told ? inventory : MemoryInventory{};
}

// The firmware's latencies between NUMA nodes; empty where it gives none.
Result<std::vector<DistanceRow>> find_distances(hwloc_topology_t loaded) {
  unsigned count = 1;
  hwloc_distances_s* matrix = nullptr;
  const unsigned long kind = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY;
  std::vector<DistanceRow> rows;
  if (hwloc_distances_get_by_type(loaded, HWLOC_OBJ_NUMANODE, &count, &matrix, kind, 0) != 0 ||
      count == 0 || matrix == nullptr) {
    return rows;
  }
  const std::size_t size = matrix->nbobjs;
  bool valid = true;
  for (std::size_t i = 0; i < size && valid; ++i) {
    if (matrix->objs[i] == nullptr) continue;
    DistanceRow row{.from = NodeId(static_cast<int>(matrix->objs[i]->os_index)), .to = {}};
    for (std::size_t j = 0; j < size; ++j) {
      if (matrix->objs[j] == nullptr) continue;
      const auto value = matrix->values[i * size + j];
      valid = valid && value <= static_cast<hwloc_uint64_t>(std::numeric_limits<int>::max());
      row.to.emplace_back(NodeId(static_cast<int>(matrix->objs[j]->os_index)),
                          static_cast<int>(value));
    }
    std::sort(row.to.begin(), row.to.end());
    rows.push_back(std::move(row));
  }
  hwloc_distances_release(loaded, matrix);
  if (!valid) return invalid("a distance between two NUMA nodes is beyond any firmware's");
  std::sort(rows.begin(), rows.end(),
            [](const DistanceRow& a, const DistanceRow& b) { return a.from < b.from; });
  return rows;
}

}  // namespace

Result<Topology> read_topology(hwloc_topology_t loaded, const BootCpus& boot) {
  const std::vector<Found> cpus = TRY(find_cpus(loaded));
  if (cpus.empty()) return invalid("a machine needs at least one CPU");
  CpuSet online;
  for (const Found& found : cpus) online.insert(CpuId(found.cpu));

  const auto core_ids = lowest_cpus(cpus, [](const Found& f) { return f.core; });
  const auto package_of = [](const Found& f) { return f.package; };
  const auto socket_ids = ids_of(lowest_cpus(cpus, package_of), [](hwloc_obj_t package) {
    return package == nullptr ? 0U : package->os_index;
  });
  // A group with an L3, or the CPUs of a socket that have none.
  using Group = std::pair<hwloc_obj_t, int>;
  const auto group_of = [&](const Found& f) {
    return Group(f.l3, f.l3 == nullptr ? socket_ids.at(f.package) : 0);
  };
  const auto uncore_ids = ids_of(lowest_cpus(cpus, group_of), [](const Group& group) {
    return group.first == nullptr ? static_cast<unsigned>(group.second) : group.first->os_index;
  });
  const NumaPlacement numa = TRY(find_nodes(loaded, online));

  TopologyParts parts;
  for (const Found& found : cpus) {
    const auto node = numa.node_of.find(CpuId(found.cpu));
    if (node == numa.node_of.end()) {
      return invalid(fmt::format("CPU {} is in no NUMA node", found.cpu));
    }
    parts.places.push_back(
        {.cpu = CpuId(found.cpu),
         .core = CoreId(found.core == nullptr ? found.cpu : core_ids.at(found.core)),
         .socket = SocketId(socket_ids.at(found.package)),
         .node = node->second,
         .uncore = UncoreId(uncore_ids.at(group_of(found)))});
    if (found.l3 == nullptr) parts.without_l3.insert(CpuId(found.cpu));
  }
  parts.memory_nodes = numa.memory_nodes;
  parts.distances = TRY(find_distances(loaded));
  parts.isolated = boot.isolated;
  parts.nohz_full = boot.nohz_full;
  parts.memory = find_memory(loaded);
  return Topology::make(std::move(parts));
}

}  // namespace corehold
