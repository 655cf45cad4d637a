// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint `cpu_manager_state`: its bytes, the plain Checkpoint they hold,
// and the State that holds. Bytes and checksums are the kubelet's, bit for bit.
// A Checkpoint keeps every set as text: the checksum is over the text as written,
// and decoding accepts CPU numbers of any size, which a CpuSet cannot hold; what
// Corehold can work with is decided one level up (checkpoint_check.h, state_of).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "state/state.h"

namespace corehold {

enum class CheckpointVersion {
  kV1,         // entries keyed by container id; read only
  kV2,         // entries by pod UID and container name
  kKubeletV3,  // kubelet 1.36: podEntries after entries
  kV3,         // ours, of KEP-5554: promised after entries
  kV4,         // kubelet 1.37: v2 at the top level, everything in `data`
};

// "v1", "v2", "kubelet v3", "v3", "v4".
std::string_view name_of(CheckpointVersion version);

using SetsByContainer = std::map<std::string, std::string>;
using SetsByPod = std::map<std::string, SetsByContainer>;  // pod UID, container name, set

struct Checkpoint {
  CheckpointVersion version = CheckpointVersion::kV3;  // what it was read as
  std::string policy{};
  std::string default_set{};
  SetsByPod entries{};
  SetsByPod promised{};           // v4 calls them baselines
  SetsByContainer pod_entries{};  // by pod UID; kept only to be refused by name
  SetsByContainer by_id{};        // v1: set by container id, until resolve_containers
  std::uint64_t checksum = 0;     // as found; for v4 that of `data`

  bool operator==(const Checkpoint&) const = default;
};

// Which of the kubelet's feature gates are on; they change what it reads.
struct CheckpointGates {
  bool pod_level_resource_managers = false;
  bool exclusive_cpus = false;  // InPlacePodVerticalScalingExclusiveCPUs
};

// Finds the version by checksum: v4, our v3, the kubelet's v3, v2, v1. Bytes with
// `data` or `dataChecksum` are v4 or nothing. Accepts what the kubelet accepts
// (v2 and v1 also with checksum 0). Sets are not looked at yet, except those of
// pods. Fails with kCorrupt and the kubelet's text.
Result<Checkpoint> decode_checkpoint(std::string_view bytes, const CheckpointGates& gates = {});

// The same for one version only.
Result<Checkpoint> decode_checkpoint_as(std::string_view bytes, CheckpointVersion version,
                                        const CheckpointGates& gates = {});

// What a kubelet configured with `policy` works with after reading `checkpoint`:
// sets in canonical form, pod entries and promised sets only under their gates
// (our v3 keeps promised always), and promised seeded from the entries when there
// is none. Fails with the kubelet's text: kConflict for another policy, kInvalid
// for a set that does not parse or a container id that is not resolved.
Result<Checkpoint> restore_checkpoint(Checkpoint checkpoint, std::string_view policy,
                                      const CheckpointGates& gates);

// What to write. Sets are written as they stand. REQUIRES: version != kV1.
struct CheckpointFormat {
  CheckpointVersion version = CheckpointVersion::kV3;
  // v4 only: leave out promised, as a kubelet does whose ExclusiveCPUs gate is off.
  bool without_baselines = false;
};
std::string encode_checkpoint(const Checkpoint& checkpoint, const CheckpointFormat& format);
// The same bytes as encode_checkpoint(checkpoint_of(state), format), faster.
std::string encode_checkpoint(const State& state, const CheckpointFormat& format);

// Container ids of the runtime; v1 knows containers by nothing else.
using ContainerMap = std::map<std::string, ContainerRef>;

// Moves what v1 holds by container id into entries. Other versions are returned as
// they are. Fails with kNotFound, naming the id that `containers` lacks.
Result<Checkpoint> resolve_containers(Checkpoint checkpoint, const ContainerMap& containers);

// Promised is seeded from the assignment when the checkpoint has none at all; a
// single container without is left with none on record. Fails with kInvalid for a
// set that does not parse or a CPU beyond 4095, and kNotFound for an unresolved id.
Result<State> state_of(const Checkpoint& checkpoint);
Checkpoint checkpoint_of(const State& state);

}  // namespace corehold
