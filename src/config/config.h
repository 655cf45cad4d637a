// SPDX-License-Identifier: Apache-2.0
//
// Config: everything that can be set, as plain structs with their defaults. The upper
// part comes from a kubelet's own KubeletConfiguration, the rest from Corehold's
// CoreholdConfiguration; read_config.h reads both, docs/config.md lists every field.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "config/feature_gates.h"
#include "cpuset/cpu_set.h"
#include "hints/device_inventory.h"
#include "hints/topology_options.h"
#include "isolation/level.h"
#include "pod/qos.h"
#include "policy/options.h"
#include "topology/memory_inventory.h"

namespace corehold {

enum class CpuManagerPolicy { kNone, kStatic };
enum class MemoryManagerPolicy { kNone, kStatic };
enum class RuntimeKind { kProcess, kCri, kNri };
enum class CheckpointStyle { kCorehold, kKubelet };

// "none", "static"; "None", "Static"; "process", "cri", "nri"; "corehold", "kubelet".
std::string_view name_of(CpuManagerPolicy policy);
std::string_view name_of(MemoryManagerPolicy policy);
std::string_view name_of(RuntimeKind kind);
std::string_view name_of(CheckpointStyle style);

struct RuntimeConfig {
  RuntimeKind kind = RuntimeKind::kProcess;
  std::string endpoint{};                            // CRI socket, for cri and nri: "unix:///..."
  std::string nri_socket = "/var/run/nri/nri.sock";  // for nri

  bool operator==(const RuntimeConfig&) const = default;
};

struct ListenConfig {
  std::string address = "127.0.0.1:10270";  // of the API over TLS; "": the Unix socket only
  std::string
      socket_group{};  // may use the Unix socket, and is then as good as root; "": root only

  bool operator==(const ListenConfig&) const = default;
};

struct PathsConfig {
  std::string root = "/var/lib/corehold";  // checkpoint, store, podinfo, sockets
  std::string podinfo{};                   // of the assigned.cpuset files; "": <root>/podinfo
  std::string pod_resources_socket{};      // "": <root>/pod-resources/kubelet.sock

  bool operator==(const PathsConfig&) const = default;
};

struct PodinfoConfig {
  bool annotations = true;  // pods may ask for the files by annotation corehold.dev/podinfo

  bool operator==(const PodinfoConfig&) const = default;
};

struct IsolationConfig {
  // What is kept off CPUs that containers hold; no value: all tasks of the machine where the agent
  // is root and has cgroups to write, else other containers alone.
  std::optional<IsolationLevel> level{};
  int min_system_cpus = 1;  // CPUs that nobody holds, at least, from level fence on

  bool operator==(const IsolationConfig&) const = default;
};

// Where the items of lists stand in the file, as paths, for messages about them. Empty for
// a configuration that was not read from one.
struct ConfigPlaces {
  // "reservedMemory[0]" by NUMA node and resource
  std::map<NodeId, std::map<std::string, std::string>> reserved_memory{};
  std::map<NodeId, std::string> memory{};  // "memory[0]"
  // "devices[0].devices[1]" by resource and id
  std::map<std::string, std::map<std::string, std::string>> devices{};
};

struct Config {
  // From KubeletConfiguration.
  CpuManagerPolicy cpu_manager_policy = CpuManagerPolicy::kNone;
  StaticOptions static_options{};  // with minSharedCPUs of CoreholdConfiguration
  CpuSet reserved_cpus{};          // reservedSystemCPUs; empty: choose reserved_count of them
  int reserved_count = 0;          // their number, else ceil(kubeReserved + systemReserved)
  TopologyOptions topology{};
  FeatureGates gates{};
  PolicyGates policy_gates{};      // what the gates say
  TopologyGates topology_gates{};  // what the gates say
  PodGates pod_gates{};            // the kubelet's defaults; no configuration changes them
  std::chrono::milliseconds node_status_update_frequency{10'000};
  std::chrono::milliseconds reconcile_period{10'000};  // of cpusets; default: the one above
  std::chrono::milliseconds sync_frequency{60'000};
  std::string static_pod_path{};  // may be relative to the configuration file; "": none
  MemoryManagerPolicy memory_manager_policy = MemoryManagerPolicy::kNone;
  MemoryInventory reserved_memory{};  // by NUMA node, for the static memory manager

  // From CoreholdConfiguration.
  RuntimeConfig runtime{};
  ListenConfig listen{};
  PathsConfig paths{};
  PodinfoConfig podinfo{};
  IsolationConfig isolation{};
  CheckpointStyle checkpoint_format = CheckpointStyle::kCorehold;
  bool memory_pinning = false;  // also set cpuset.mems of containers
  DeviceInventory devices{};
  std::optional<MemoryInventory> memory{};  // instead of the machine's own

  ConfigPlaces places{};
};

}  // namespace corehold
