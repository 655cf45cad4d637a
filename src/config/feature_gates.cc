// SPDX-License-Identifier: Apache-2.0
#include "config/feature_gates.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::array kResizeNeeds{Gate::kInPlacePodVerticalScaling, Gate::kCpuManager};

constexpr std::array<GateInfo, kGateCount> kGates{{
    {Gate::kCpuManager, "CPUManager", GateStage::kGa, true, {}, "cannot be switched off"},
    {Gate::kCpuManagerPolicyAlphaOptions,
     "CPUManagerPolicyAlphaOptions",
     GateStage::kAlpha,
     false,
     {},
     "options of the CPU manager policy that are alpha may be used"},
    {Gate::kCpuManagerPolicyBetaOptions,
     "CPUManagerPolicyBetaOptions",
     GateStage::kBeta,
     true,
     {},
     "options of the CPU manager policy that are beta may be used"},
    {Gate::kDownwardApiAssignedResources,
     "DownwardAPIAssignedResources",
     GateStage::kAlpha,
     false,
     {},
     "the API checks `assigned.cpuset` and `assigned.memset` in downward API volumes; the files "
     "are written in any case"},
    {Gate::kInPlacePodVerticalScaling,
     "InPlacePodVerticalScaling",
     GateStage::kGa,
     true,
     {},
     "resources of running pods may be resized"},
    {Gate::kInPlacePodVerticalScalingExclusiveCpus, "InPlacePodVerticalScalingExclusiveCPUs",
     GateStage::kAlpha, false, kResizeNeeds, "exclusive CPUs of running pods may be resized"},
    {Gate::kNodeDeclaredFeatures,
     "NodeDeclaredFeatures",
     GateStage::kBeta,
     true,
     {},
     "the node declares its features, and pods that need others are refused"},
    {Gate::kRestartAllContainersOnContainerExits,
     "RestartAllContainersOnContainerExits",
     GateStage::kBeta,
     false,
     {},
     "a container's end may restart all containers of its pod (`restartPolicyRules`)"},
    {Gate::kTopologyManagerPolicyAlphaOptions,
     "TopologyManagerPolicyAlphaOptions",
     GateStage::kAlpha,
     false,
     {},
     "options of the topology manager policy that are alpha may be used; today there are none"},
    {Gate::kTopologyManagerPolicyBetaOptions,
     "TopologyManagerPolicyBetaOptions",
     GateStage::kBeta,
     true,
     {},
     "options of the topology manager policy that are beta may be used; today there are none"},
}};

}  // namespace

std::string_view name_of(GateStage stage) {
  constexpr std::array<std::string_view, 3> kNames{"GA", "beta", "alpha"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::span<const GateInfo, kGateCount> gate_table() { return kGates; }

const GateInfo& info(Gate gate) { return kGates[static_cast<std::size_t>(gate)]; }

const GateInfo* find_gate(std::string_view name) {
  const auto* found = std::find_if(kGates.begin(), kGates.end(),
                                   [name](const GateInfo& row) { return row.name == name; });
  return found == kGates.end() ? nullptr : found;
}

std::string gate_of_stage(std::string_view prefix, OptionStage stage) {
  if (stage == OptionStage::kStable) return "";
  return fmt::format("{}{}Options", prefix, stage == OptionStage::kAlpha ? "Alpha" : "Beta");
}

FeatureGates::FeatureGates() {
  for (const GateInfo& row : kGates) {
    on_[static_cast<std::size_t>(row.gate)] = row.is_on_by_default;
  }
}

std::vector<Gate> FeatureGates::changed() const {
  std::vector<Gate> gates;
  for (const GateInfo& row : kGates) {
    if (is_on(row.gate) != row.is_on_by_default) gates.push_back(row.gate);
  }
  return gates;
}

PolicyGates FeatureGates::policy_gates() const {
  return {.alpha_options = is_on(Gate::kCpuManagerPolicyAlphaOptions),
          .beta_options = is_on(Gate::kCpuManagerPolicyBetaOptions),
          .resize_exclusive_cpus = is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus)};
}

TopologyGates FeatureGates::topology_gates() const {
  return {.alpha_options = is_on(Gate::kTopologyManagerPolicyAlphaOptions),
          .beta_options = is_on(Gate::kTopologyManagerPolicyBetaOptions)};
}

}  // namespace corehold
