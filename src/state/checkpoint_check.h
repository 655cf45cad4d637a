// SPDX-License-Identifier: Apache-2.0
//
// What Corehold asks of a checkpoint beyond what a kubelet asks, and the words for
// one that does not verify. Done at start, never while decoding. No machine is known
// here: whether a sound checkpoint suits one is another question (invariants.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "state/checkpoint.h"

namespace corehold {

// What a person can do about a checkpoint that does not verify; ends such messages.
inline constexpr std::string_view kCorruptRemedy =
    "restore it from a copy, or drain the node and delete it";

// "none" or "static".
bool is_policy_name(std::string_view name);

// The State of the checkpoint, when its sets and owners are sound. Refuses, naming
// container, pod and CPUs: podEntries (kUnsupported); no policy or an unknown one, a
// CPU beyond 4095, a set that does not parse, CPUs promised to a container that has
// none (kInvalid); an unresolved container id of v1 (kNotFound); and with kConflict a
// container without CPUs, a CPU held by containers of two pods or by a container and
// the default set, promised CPUs that are not assigned, an empty default set while
// containers hold CPUs.
Result<State> check_content(const Checkpoint& checkpoint);

// The same, and refuses a zero checksum (kCorrupt): nothing vouches for the content.
Result<State> check_loadable(const Checkpoint& checkpoint);

// The checksum that the bytes carry and the one that their content gives.
struct ChecksumFacts {
  CheckpointVersion version;  // what the bytes look most like, by their fields
  std::uint64_t found = 0;
  std::uint32_t computed = 0;
};

// No value when the bytes are not JSON of any version's shape.
std::optional<ChecksumFacts> checksum_facts(std::string_view bytes);

// Why decoding failed with `error`, in one line: for a wrong checksum "checksum is
// A, content gives B", else the error's own message.
std::string explain_failure(std::string_view bytes, const Error& error);

}  // namespace corehold
