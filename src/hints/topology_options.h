// SPDX-License-Identifier: Apache-2.0
//
// How the topology manager is set up: policy, scope and options, from the words an
// operator writes in topologyManagerPolicy, topologyManagerScope and
// topologyManagerPolicyOptions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace corehold {

enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };
enum class TopologyScope { kContainer, kPod };

// "none", "best-effort", "restricted", "single-numa-node"; "container", "pod".
std::string_view name_of(TopologyPolicy policy);
std::string_view name_of(TopologyScope scope);
// Fail with kInvalid, naming what is known.
Result<TopologyPolicy> parse_topology_policy(std::string_view text);
Result<TopologyScope> parse_topology_scope(std::string_view text);

// The feature gates that decide which options may be used.
struct TopologyGates {
  bool alpha_options = false;  // TopologyManagerPolicyAlphaOptions
  bool beta_options = true;    // TopologyManagerPolicyBetaOptions
};

struct TopologyOptions {
  TopologyPolicy policy = TopologyPolicy::kNone;
  TopologyScope scope = TopologyScope::kContainer;
  bool prefer_closest_numa = false;  // prefer-closest-numa-nodes
  int max_numa_nodes = 8;            // max-allowable-numa-nodes

  bool operator==(const TopologyOptions&) const = default;
};

// How far an option of a policy has come; all but stable ones need a feature gate.
enum class OptionStage { kStable, kBeta, kAlpha };

// "stable", "beta", "alpha".
std::string_view name_of(OptionStage stage);

// An option as the documents show it.
struct OptionInfo {
  std::string_view name;
  OptionStage stage;
  std::string_view values;
  std::string_view default_value;  // the value of an option that is not given
  std::string_view meaning;
};

// The options of topologyManagerPolicyOptions.
std::span<const OptionInfo> topology_option_table();

// Reads topologyManagerPolicyOptions into `options`. Fails with kInvalid, naming the
// option: an unknown one, one whose gate is off, a bad value.
Result<TopologyOptions> parse_topology_options(TopologyOptions options,
                                               const std::map<std::string, std::string>& text,
                                               const TopologyGates& gates);

// Whether the machine has no more NUMA nodes than allowed; with policy none, any number.
Result<void> check_topology_options(const TopologyOptions& options, const Topology& topology);

}  // namespace corehold
