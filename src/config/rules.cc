// SPDX-License-Identifier: Apache-2.0
//
// What depends on several fields of the configuration.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "config/draft.h"
#include "config/words.h"

namespace corehold {
namespace {

void check_gates(const FeatureGates& gates, Reading& reading) {
  for (const GateInfo& row : gate_table()) {
    if (!gates.is_on(row.gate)) continue;
    for (const Gate need : row.needs) {
      if (gates.is_on(need)) continue;
      reading.mistake(fmt::format("featureGates.{}", row.name),
                      fmt::format("needs feature gate {}, which is off; switch that on or this off",
                                  info(need).name));
    }
  }
}

// Which option was probably meant; "" for one that is known.
std::string nearest_option(std::string_view option, std::span<const OptionInfo> table) {
  std::vector<std::string_view> known;
  for (const OptionInfo& row : table) {
    if (row.name == option) return "";
    known.push_back(row.name);
  }
  return did_you_mean(option, known);
}

// "; set CPUManagerPolicyAlphaOptions: true in featureGates"
std::string gate_advice(std::string_view option, std::span<const OptionInfo> table,
                        std::string_view gate_prefix) {
  for (const OptionInfo& row : table) {
    if (row.name != option) continue;
    return fmt::format("; set {}: true in featureGates", gate_of_stage(gate_prefix, row.stage));
  }
  return "";
}

// The kubelet's text, and what to do.
std::string with_advice(const OptionMistake& mistake) {
  switch (mistake.fault) {
    case OptionFault::kUnknown:
      return mistake.message + nearest_option(mistake.option, static_option_table());
    case OptionFault::kStage:
      return mistake.message + gate_advice(mistake.option, static_option_table(), kCpuOptionGates);
    case OptionFault::kValue:
      // A delay's text says it already.
      return mistake.message +
             (mistake.option == "scale-delay-time" ? "" : "; write \"true\" or \"false\"");
    case OptionFault::kNeed:
    case OptionFault::kPair:
      break;
  }
  return mistake.message;
}

// As Go prints a map.
std::string show_map(const std::map<std::string, std::string>& texts) {
  std::string text;
  for (const auto& [name, value] : texts) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name, value);
  }
  return clipped(text, 200);
}

void read_cpu_options(Draft& draft, Reading& reading) {
  Config& config = draft.config;
  const int min_shared_cpus = config.static_options.min_shared_cpus;
  StaticOptionsRead read = read_static_options(draft.cpu_options, config.policy_gates);
  config.static_options = read.options;
  config.static_options.min_shared_cpus = min_shared_cpus;
  for (const OptionMistake& mistake : read.mistakes) {
    reading.mistake("cpuManagerPolicyOptions." + mistake.option, with_advice(mistake));
  }
  if (config.cpu_manager_policy == CpuManagerPolicy::kNone && !draft.cpu_options.empty() &&
      !reading.is_wrong("cpuManagerPolicy")) {
    reading.mistake("cpuManagerPolicyOptions",
                    fmt::format("None policy: received unsupported options=map[{}]; set "
                                "cpuManagerPolicy: static, or remove them",
                                show_map(draft.cpu_options)));
  }
  const auto checked = check_static_options(config.static_options, config.topology.policy);
  if (!checked) {
    reading.mistake(
        "cpuManagerPolicyOptions.align-by-socket",
        checked.error().message + "; use restricted or best-effort, or drop the option");
  }
}

// Whether the gate of the option's stage is off; for an option that is not known it is not.
bool is_gated(std::string_view option, const TopologyGates& gates) {
  for (const OptionInfo& row : topology_option_table()) {
    if (row.name != option) continue;
    return (row.stage == OptionStage::kAlpha && !gates.alpha_options) ||
           (row.stage == OptionStage::kBeta && !gates.beta_options);
  }
  return false;
}

void read_topology_options(Draft& draft, Reading& reading) {
  Config& config = draft.config;
  // One at a time, and the value whatever the gates say, so that each mistake is found.
  for (const auto& option : draft.topology_options) {
    const std::string field = "topologyManagerPolicyOptions." + option.first;
    if (is_gated(option.first, config.topology_gates)) {
      const auto gated = parse_topology_options(config.topology, {option}, config.topology_gates);
      reading.mistake(field,
                      gated.error().message +
                          gate_advice(option.first, topology_option_table(), kTopologyOptionGates));
    }
    constexpr TopologyGates kAll{.alpha_options = true, .beta_options = true};
    auto options = parse_topology_options(config.topology, {option}, kAll);
    if (options) {
      config.topology = *options;
      if (config.topology.max_numa_nodes <= kMaxNodes) continue;
      reading.mistake(field, fmt::format("{} NUMA nodes are the most that Corehold supports; write "
                                         "\"{}\" or less",
                                         kMaxNodes, kMaxNodes));
    } else {
      reading.mistake(
          field, options.error().message + nearest_option(option.first, topology_option_table()));
    }
  }
}

void note_overruled(const std::string& field, Reading& reading) {
  if (reading.is_given(field)) reading.note(field, "without effect: reservedSystemCPUs decides");
}

void count_reserved(Draft& draft, Reading& reading) {
  Config& config = draft.config;
  if (!config.reserved_cpus.empty()) {
    config.reserved_count = config.reserved_cpus.size();
    note_overruled("kubeReserved.cpu", reading);
    note_overruled("systemReserved.cpu", reading);
    return;
  }
  const auto whole = (draft.kube_reserved.cpu + draft.system_reserved.cpu).scaled(0);
  if (whole && *whole <= kMaxCpus) {
    config.reserved_count = static_cast<int>(*whole);
  } else {
    const bool is_kube = draft.kube_reserved.cpu > draft.system_reserved.cpu;
    reading.mistake(
        is_kube ? "kubeReserved.cpu" : "systemReserved.cpu",
        fmt::format("reserves more than {} CPUs, the most a machine may have", kMaxCpus));
  }
  const bool is_unreadable = reading.is_wrong("reservedSystemCPUs") ||
                             reading.is_wrong("kubeReserved") || reading.is_wrong("systemReserved");
  if (config.cpu_manager_policy == CpuManagerPolicy::kStatic && config.reserved_count == 0 &&
      !is_unreadable) {
    reading.mistake("cpuManagerPolicy",
                    "the static policy requires systemreserved.cpu + kubereserved.cpu to be "
                    "greater than zero; give reservedSystemCPUs, or cpu in kubeReserved or "
                    "systemReserved");
  }
}

void check_runtime(const RuntimeConfig& runtime, Reading& reading) {
  if (reading.is_wrong("runtime")) return;
  const bool has_endpoint = !runtime.endpoint.empty();
  if (runtime.kind == RuntimeKind::kProcess && has_endpoint) {
    reading.mistake("runtime.endpoint",
                    "kind process has no endpoint; set kind to cri or nri, or remove it");
  }
  if (runtime.kind != RuntimeKind::kProcess && !has_endpoint) {
    reading.mistake("runtime.kind", fmt::format("{} needs runtime.endpoint, as in "
                                                "unix:///run/containerd/containerd.sock",
                                                name_of(runtime.kind)));
  }
}

// A kubelet's default, and not what somebody wants who has installed a CPU manager.
void check_policy(const Config& config, Reading& reading) {
  if (config.cpu_manager_policy != CpuManagerPolicy::kNone) return;
  if (reading.is_given("cpuManagerPolicy") || reading.is_wrong("cpuManagerPolicy")) return;
  reading.warning("cpuManagerPolicy",
                  "not given, and so none, as for a kubelet: no exclusive CPUs will be given; set "
                  "cpuManagerPolicy: static");
}

// Fields whose part of the node is not there yet.
void note_absent_parts(Reading& reading) {
  constexpr std::array<std::string_view, 2> kFields{"syncFrequency", "paths.podinfo"};
  for (const std::string_view name : kFields) {
    const std::string field(name);
    if (reading.is_given(field)) reading.note(field, "without effect yet");
  }
}

}  // namespace

void apply_rules(Draft& draft, Reading& reading) {
  Config& config = draft.config;
  config.policy_gates = config.gates.policy_gates();
  config.topology_gates = config.gates.topology_gates();
  config.reconcile_period = draft.reconcile_period.count() > 0
                                ? draft.reconcile_period
                                : config.node_status_update_frequency;
  check_gates(config.gates, reading);
  read_topology_options(draft, reading);
  read_cpu_options(draft, reading);
  count_reserved(draft, reading);
  check_memory(draft, reading);
  check_runtime(config.runtime, reading);
  check_policy(config, reading);
  note_absent_parts(reading);
  if (reading.is_given("minSharedCPUs") && !config.static_options.strict_cpu_reservation) {
    reading.note("minSharedCPUs", "without effect: strict-cpu-reservation is not on");
  }
}

}  // namespace corehold
