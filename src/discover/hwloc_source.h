// SPDX-License-Identifier: Apache-2.0
//
// Topologies from hwloc: of the running host, of an hwloc XML text, of a synthetic
// description. hwloc itself, its objects and its logical indexes stay behind these
// three functions; what comes out has OS numbers only:
//
//   CPU     the PU's OS number
//   core    the lowest online CPU of the core, as in the kubelet (unique over the machine)
//   socket  the package's OS number (the lowest CPU where those are missing or repeat);
//           0 where the machine shows no package
//   node    the NUMA node's OS number; 0 where the machine shows none
//   uncore  the L3 cache's OS number, which is what the kubelet uses; CPUs without an
//           L3 count by socket, with the socket's id. Where a number is unknown or two
//           would be equal, every group takes its lowest CPU instead
//
// NUMA nodes that own no CPU become memory nodes; numa_placement.h says which node
// owns a CPU that is local to several (HBM beside DRAM).
#pragma once

#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace corehold {

// All three fail with kUnsupported on more than 4,096 CPUs or 64 NUMA nodes, and with
// kInvalid when what is described is no machine.

// Every online CPU of this machine, also those this process's cgroup or affinity keeps
// it from using: an agent hands out the machine's CPUs, not its own. Offline CPUs are
// not part of it. Isolated and nohz_full CPUs are those of /sys/devices/system/cpu. Fails with
// kConflict when the environment (HWLOC_XMLFILE, HWLOC_FSROOT, ...) makes hwloc describe
// another machine. Does not change the affinity of any thread.
Result<Topology> topology_from_host();

// What `lstopo --of xml` writes. Disallowed CPUs are included as for the host, so a
// capture reads the same inside a container and outside. Never crashes: the text is
// first tried in a child process, as hwloc aborts on some malformed input; what it would
// mend, dropping objects that contradict others, is an error too.
Result<Topology> topology_from_xml(std::string_view text);

// hwloc's synthetic language: "package:2 numa:1 l3:2 core:4 pu:2"; see synthetic_text.h
// for what is refused before hwloc sees it.
Result<Topology> topology_from_synthetic(std::string_view text);

// The kernel's list of CPUs that its command line names (isolated, nohz_full), as read from
// sysfs; numbers a CpuSet cannot hold are an error.
Result<CpuSet> parse_boot_cpus(std::string_view text);

}  // namespace corehold
