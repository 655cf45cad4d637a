// SPDX-License-Identifier: Apache-2.0
//
// A Topology as text for people and as JSON for programs. Pure: the same Topology
// gives the same bytes.
#pragma once

#include <string>

#include "topology/topology.h"

namespace corehold {

// "2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs"; L3 caches are named where they are not
// simply one per socket or per NUMA node, and not where there are none.
std::string summarize(const Topology& topology);

// The machine's line, what is unusual about it, a row per L3 cache in its NUMA node and
// socket ("-": CPUs without one), and the NUMA distances where the firmware gives them.
std::string render_topology_table(const Topology& topology);

// One JSON object, two spaces of indent, keys in this order:
//   summary        {sockets, numaNodes, l3Caches, cores, cpus: counts, threadsPerCore, regular,
//                  distancesGiven: false where the distances below are the usual 10 and 20}
//   cpus           kernel list of all CPUs, as every "cpus" below
//   isolatedCpus   kernel list
//   sockets        [{id, cpus, numaNodes: [id], l3Caches: [id]}]
//   numaNodes      [{id, cpus, sockets: [id], l3Caches: [id], distances: {"id": n}}];
//                  nodes without CPUs are included, with "cpus": ""
//   l3Caches       [{id, cpus, sockets: [id], numaNodes: [id]}]
//   cores          [{id, cpus}]
//   cpuPlaces      [{cpu, core, socket, numaNode, l3Cache}] by CPU; no
//                  l3Cache for a CPU that has none
// Ids are OS numbers; lists ascend by id.
std::string render_topology_json(const Topology& topology);

}  // namespace corehold
