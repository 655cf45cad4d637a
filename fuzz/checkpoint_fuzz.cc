// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: no bytes crash, whatever version they claim to be; what decodes is
// explained; what Corehold would load survives being written and read again.
#include <cstdint>
#include <string_view>

#include "state/checkpoint.h"
#include "state/checkpoint_check.h"

namespace {

using namespace corehold;

void check_round_trip(const State& state) {
  for (const auto version : {CheckpointVersion::kV3, CheckpointVersion::kV4}) {
    const std::string bytes = encode_checkpoint(state, {.version = version});
    CHECK(bytes == encode_checkpoint(checkpoint_of(state), {.version = version}));
    const auto decoded = decode_checkpoint(bytes);
    CHECK(decoded.has_value() && decoded->version == version);
    CHECK(*state_of(*decoded) == state);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool pods : {false, true}) {
    for (const bool exclusive : {false, true}) {
      const CheckpointGates gates{.pod_level_resource_managers = pods, .exclusive_cpus = exclusive};
      const auto checkpoint = decode_checkpoint(bytes, gates);
      if (!checkpoint) {
        CHECK(!explain_failure(bytes, checkpoint.error()).empty());
        continue;
      }
      const auto restored = restore_checkpoint(*checkpoint, checkpoint->policy, gates);
      if (restored) {
        const auto after = encode_checkpoint(*restored, {.version = CheckpointVersion::kV4});
        CHECK(decode_checkpoint(after, gates).has_value());
      }
      const auto state = check_content(*checkpoint);
      if (state) check_round_trip(*state);
    }
  }
  return 0;
}
