// SPDX-License-Identifier: Apache-2.0
//
// The options of the static policy: text as an operator writes it in
// cpuManagerPolicyOptions, checked, as a plain struct. Each option has a stage,
// and each stage but "stable" a feature gate that must be on.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hints/topology_options.h"
#include "topology/topology.h"

namespace corehold {

// The feature gates that decide which options may be used.
struct PolicyGates {
  bool alpha_options = false;          // CPUManagerPolicyAlphaOptions
  bool beta_options = true;            // CPUManagerPolicyBetaOptions
  bool resize_exclusive_cpus = false;  // InPlacePodVerticalScalingExclusiveCPUs
};

struct StaticOptions {
  bool full_pcpus_only = false;              // full-pcpus-only
  bool strict_cpu_reservation = false;       // strict-cpu-reservation
  bool prefer_align_by_uncore = false;       // prefer-align-cpus-by-uncorecache
  bool distribute_across_numa = false;       // distribute-cpus-across-numa
  bool distribute_across_cores = false;      // distribute-cpus-across-cores
  bool align_by_socket = false;              // align-by-socket
  std::chrono::milliseconds scale_delay{0};  // scale-delay-time
  // Own setting minSharedCPUs: with strict-cpu-reservation, the shared pool keeps at
  // least this many CPUs. It is never empty in any case.
  int min_shared_cpus = 1;

  bool operator==(const StaticOptions&) const = default;
};

// The options of cpuManagerPolicyOptions.
std::span<const OptionInfo> static_option_table();

// What is wrong with an option: there is none of that name, the feature gate of its stage
// is off, its value cannot be read, it needs another gate, or another option excludes it.
enum class OptionFault { kUnknown, kStage, kValue, kNeed, kPair };

struct OptionMistake {
  std::string option{};   // the one to change; of a pair, the one that excludes the other
  std::string message{};  // names the option; the kubelet's text where it has one
  OptionFault fault = OptionFault::kUnknown;
};

struct StaticOptionsRead {
  StaticOptions options{};  // as far as they can be read, whatever the gates say
  std::vector<OptionMistake> mistakes{};
};

// Reads every option and reports all that is wrong: first what is wrong with one option,
// in the order of their names, then pairs that exclude each other. No mistake hides
// another: a value that cannot be read but is meant as a yes (yes, on) or as a delay above
// zero (20s) counts as that when pairs and needs are checked.
StaticOptionsRead read_static_options(const std::map<std::string, std::string>& text,
                                      const PolicyGates& gates);

// The same where the first mistake is enough. Fails with kInvalid and its message: an
// unknown option, one whose gate is off, a bad value, or a pair that excludes each other.
Result<StaticOptions> parse_static_options(const std::map<std::string, std::string>& text,
                                           const PolicyGates& gates);

// The names of the options that are on; scale-delay-time is on when it is above zero.
std::vector<std::string_view> options_on(const StaticOptions& options);

// Whether the options can work under this topology manager policy on any machine.
Result<void> check_static_options(const StaticOptions& options, TopologyPolicy topology_policy);

// Whether the options can work on this machine under this topology manager policy.
Result<void> check_static_options(const StaticOptions& options, const Topology& topology,
                                  TopologyPolicy topology_policy);

}  // namespace corehold
