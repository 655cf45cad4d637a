// SPDX-License-Identifier: Apache-2.0
#include "node/manager_rules.h"

namespace corehold {

ManagerRules manager_rules(const NodeSetup& setup, const Config& config) {
  return {.admission = setup.rules(),
          .invariants = {.topology = *setup.topology,
                         .reserved = setup.reserved,
                         .strict_reservation = config.static_options.strict_cpu_reservation,
                         .full_pcpus_only = setup.full_pcpus_only},
          .pins_cpus = config.cpu_manager_policy == CpuManagerPolicy::kStatic,
          .memory_pinning = config.memory_pinning,
          .reconcile_period = config.reconcile_period,
          .resize = {.in_place = config.gates.is_on(Gate::kInPlacePodVerticalScaling),
                     .exclusive_cpus =
                         config.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus)},
          .scale_delay = config.static_options.scale_delay,
          .restart_all = config.gates.is_on(Gate::kRestartAllContainersOnContainerExits)};
}

}  // namespace corehold
