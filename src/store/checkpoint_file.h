// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint file of a node: load it, save it. What its bytes mean is
// state/checkpoint.h's business. Every error names the file.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "state/checkpoint.h"

namespace corehold {

// No node fills a tenth of this.
inline constexpr std::size_t kMaxCheckpointSize = std::size_t{8} << 20U;

// The raw bytes, for those who want to say more about a file that does not verify.
Result<std::string> read_checkpoint_file(const std::string& path);

// Decoded, not yet checked (state/checkpoint_check.h). kNotFound when there is no
// file; kCorrupt, with both checksums, when it does not verify. The file is never
// changed.
Result<Checkpoint> load_checkpoint(const std::string& path, const CheckpointGates& gates = {});

// Replaces the file atomically; when it fails the old one is untouched. On a full disk the spare
// file is used, and what was the checkpoint becomes the spare file.
Result<void> save_checkpoint(const std::string& path, const State& state,
                             const CheckpointFormat& format);

// The spare file of a checkpoint: blocks of the disk that belong to the next one. What it says
// means nothing.
inline std::string checkpoint_spare_path(const std::string& path) { return path + ".spare"; }

// Makes the spare file, or sets aside the blocks that it lacks. What cannot be set aside is not.
void keep_checkpoint_spare(const std::string& path);

}  // namespace corehold
