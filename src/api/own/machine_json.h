// SPDX-License-Identifier: Apache-2.0
//
// A Topology as part of an answer, complete enough to be a Topology again at the other
// end. The words are those of `corehold topology -o json`.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "pod/json_field.h"
#include "topology/topology.h"

namespace corehold {

//   cpus, isolatedCpus  kernel lists
//   numaNodes           [{id, cpus, distances: {"id": n}, memory: {"memory": bytes}}], nodes
//                       without CPUs included; distances and memory only where known
//   cpuPlaces           [{cpu, core, socket, numaNode, l3Cache}] by CPU; where there is no
//                       L3 cache `uncore` says what stands in for it
boost::json::object machine_json(const Topology& topology);

// Fails with kInvalid, naming the field, and for what Topology::make refuses.
Result<Topology> machine_from_json(const boost::json::object& object, const Path& path);

}  // namespace corehold
