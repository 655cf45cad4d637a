// SPDX-License-Identifier: Apache-2.0
#include "node/node_setup.h"

#include <algorithm>

#include "policy/none_policy.h"
#include "policy/static_policy.h"

namespace corehold {
namespace {

std::vector<std::string> words_of(const StaticOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](bool is_on, const char* name) {
    if (is_on) words.emplace_back(name);
  };
  add(options.full_pcpus_only, "full-pcpus-only");
  add(options.strict_cpu_reservation, "strict-cpu-reservation");
  add(options.prefer_align_by_uncore, "prefer-align-cpus-by-uncorecache");
  add(options.distribute_across_numa, "distribute-cpus-across-numa");
  add(options.distribute_across_cores, "distribute-cpus-across-cores");
  add(options.align_by_socket, "align-by-socket");
  return words;
}

Result<void> set_static(NodeSetup& setup, const Config& config) {
  const Topology& topology = *setup.topology;
  StaticPolicy policy =
      TRY(StaticPolicy::make(topology, {.options = config.static_options,
                                        .reserved = config.reserved_cpus,
                                        .reserved_count = config.reserved_count,
                                        .topology_policy = config.topology.policy}));
  setup.empty.cpus = TRY(policy.start({}));
  TRY(policy.check_start(setup.empty.cpus));
  setup.options = words_of(config.static_options);
  setup.scale_delay = config.static_options.scale_delay;
  setup.full_pcpus_only = config.static_options.full_pcpus_only;
  if (config.static_options.strict_cpu_reservation) {
    setup.min_shared = std::max(1, config.static_options.min_shared_cpus);
  }
  setup.reserved = policy.reserved();
  setup.givable =
      topology.cpus() - (setup.full_pcpus_only ? policy.reserved_cores() : policy.reserved());
  setup.policy = std::make_unique<StaticPolicy>(std::move(policy));
  return {};
}

Result<void> set_none(NodeSetup& setup) {
  setup.policy = std::make_unique<NonePolicy>();
  setup.empty.cpus = TRY(setup.policy->start({}));
  return {};
}

}  // namespace

Result<NodeSetup> NodeSetup::make(const Topology& topology, const Config& config) {
  NodeSetup setup{.topology = &topology,
                  .policy = nullptr,
                  .topology_options = config.topology,
                  .pod_gates = config.pod_gates,
                  .gates = config.gates,
                  .reconcile_period = config.reconcile_period};
  if (config.cpu_manager_policy == CpuManagerPolicy::kStatic) {
    TRY(set_static(setup, config));
  } else {
    TRY(set_none(setup));
  }
  if (config.memory_manager_policy == MemoryManagerPolicy::kStatic) {
    setup.empty.memory =
        TRY(MemoryBook::make(config.memory.value_or(topology.memory()), config.reserved_memory));
  }
  setup.empty.devices = TRY(DeviceBook::make(config.devices));
  return setup;
}

AdmissionRules NodeSetup::rules() const {
  return {.topology = *topology,
          .policy = *policy,
          .topology_options = topology_options,
          .pod_gates = pod_gates};
}

Config planning_defaults(const Topology& topology) {
  Config config;
  config.cpu_manager_policy = CpuManagerPolicy::kStatic;
  const CpuSet first{topology.cpus().first()};
  config.reserved_cpus = topology.whole_cores_touching(first);
  // Of a machine of one core something must be left to give.
  if (config.reserved_cpus == topology.cpus()) config.reserved_cpus = first;
  config.reserved_count = config.reserved_cpus.size();
  return config;
}

}  // namespace corehold
