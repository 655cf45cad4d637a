// SPDX-License-Identifier: Apache-2.0
//
// The feature gates that Corehold knows: stage, default, what each needs, and the value
// a configuration gives them. Gates of Kubernetes that Corehold does not know are kept
// and have no effect; a declared feature whose gate is not here is not here either.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hints/topology_options.h"
#include "policy/options.h"

namespace corehold {

// In the order of the table of gates.
enum class Gate {
  kCpuManager,
  kCpuManagerPolicyAlphaOptions,
  kCpuManagerPolicyBetaOptions,
  kDownwardApiAssignedResources,
  kInPlacePodVerticalScaling,
  kInPlacePodVerticalScalingExclusiveCpus,
  kNodeDeclaredFeatures,
  kRestartAllContainersOnContainerExits,
  kTopologyManagerPolicyAlphaOptions,
  kTopologyManagerPolicyBetaOptions,
};

inline constexpr std::size_t kGateCount = 10;

enum class GateStage { kGa, kBeta, kAlpha };

// "GA", "beta", "alpha".
std::string_view name_of(GateStage stage);

struct GateInfo {
  Gate gate;
  std::string_view name;
  GateStage stage;
  bool is_on_by_default;        // the value of a gate that is not given
  std::span<const Gate> needs;  // must be on while this one is
  std::string_view meaning;
};

// By name; the one of gate g is at position g.
std::span<const GateInfo, kGateCount> gate_table();
const GateInfo& info(Gate gate);
// Null for a gate that Corehold does not know.
const GateInfo* find_gate(std::string_view name);

// What the gates of policy options begin with.
inline constexpr std::string_view kCpuOptionGates = "CPUManagerPolicy";
inline constexpr std::string_view kTopologyOptionGates = "TopologyManagerPolicy";

// "CPUManagerPolicyAlphaOptions"; "" for stable options, which need none.
std::string gate_of_stage(std::string_view prefix, OptionStage stage);

class FeatureGates {
 public:
  FeatureGates();

  bool is_on(Gate gate) const { return on_[static_cast<std::size_t>(gate)]; }
  void set(Gate gate, bool on) {
    on_[static_cast<std::size_t>(gate)] = on;
    is_given_[static_cast<std::size_t>(gate)] = true;
  }
  // Whether it was set, to whatever value.
  bool is_given(Gate gate) const { return is_given_[static_cast<std::size_t>(gate)]; }

  // Gates that Corehold does not know, as given.
  std::map<std::string, bool> others{};

  // Known gates whose value is not the default.
  std::vector<Gate> changed() const;

  PolicyGates policy_gates() const;
  TopologyGates topology_gates() const;

  bool operator==(const FeatureGates&) const = default;

 private:
  std::array<bool, kGateCount> on_{};
  std::array<bool, kGateCount> is_given_{};
};

}  // namespace corehold
