// SPDX-License-Identifier: Apache-2.0
//
// CpuMap: which CPUs a node has and who holds them, as GET
// /apis/corehold.dev/v1alpha1/cpus tells it and `corehold get cpus` shows it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

// A container with CPUs of its own.
struct CpuHolder {
  std::string namespace_name{};
  std::string pod{};
  std::string uid{};
  std::string container{};
  CpuSet assigned{};
  CpuSet promised{};
  std::optional<CpuSet> pending{};  // what will be left of assigned, while that is due
  // The delay, once the container has been told: what is left of it, and when that is over,
  // since the Unix epoch by the node's clock; zero: it has not.
  std::optional<std::chrono::milliseconds> pending_for{};
  std::chrono::milliseconds pending_until{};
  NodeSet numa{};                     // the NUMA nodes of its CPUs
  std::chrono::milliseconds since{};  // since the Unix epoch; zero: not known

  // CPUs beyond those promised; and those that a shrink under way takes, all of them grown.
  CpuSet grown() const { return assigned - promised; }
  CpuSet leaving() const { return pending ? assigned - *pending : CpuSet{}; }

  bool operator==(const CpuHolder&) const = default;
};

// How the node is set up, as far as that decides about CPUs.
struct CpuSettings {
  std::string topology_policy{};                // "none", "best-effort", ...
  std::string topology_scope{};                 // "container", "pod"
  std::vector<std::string> topology_options{};  // "prefer-closest-numa-nodes", ...
  std::map<std::string, bool> gates{};          // those whose value is not the default
  std::map<std::string, bool> idle_gates{};     // given, but without effect here
  // Features that the node declares, and why it does not declare the others. Both are empty
  // with gate NodeDeclaredFeatures off.
  std::vector<std::string> declared_features{};
  std::map<std::string, std::string> undeclared_features{};
  std::chrono::milliseconds scale_delay{};  // before CPUs are taken from a container
  std::chrono::milliseconds reconcile_period{};
  int min_shared = 0;       // CPUs that always stay shared; 0: not known
  std::string isolation{};  // what is kept off held CPUs: "containers", "fence", ...; "": not known

  bool operator==(const CpuSettings&) const = default;
};

struct CpuMap {
  std::string node{};  // its name
  Topology topology;
  std::string policy{};                // "static", "none"
  std::vector<std::string> options{};  // of the policy, as it names them
  CpuSet reserved{};
  CpuSet shared{};                      // where everybody without CPUs of its own runs
  CpuSet free{};                        // of the shared ones, those that may be given away now
  CpuSet offline{};                     // known to the machine, and not running
  std::vector<CpuHolder> containers{};  // by namespace, pod, container
  CpuSettings settings{};

  // All CPUs that containers hold.
  CpuSet exclusive() const;
  bool has_option(std::string_view option) const;
};

boost::json::object to_json(const CpuMap& map);

// Fails with kInvalid, naming the field that is wrong or missing.
Result<CpuMap> cpu_map_from_json(const boost::json::value& value);

}  // namespace corehold
