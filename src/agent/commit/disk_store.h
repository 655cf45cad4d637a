// SPDX-License-Identifier: Apache-2.0
//
// The NodeStore on disk: the checkpoint file and the database of pods.
#pragma once

#include <span>
#include <string>

#include "agent/commit/node_store.h"
#include "state/checkpoint.h"
#include "store/pod_store.h"

namespace corehold {

// The key of a note of the store that says that there is a checkpoint: one that is missing is lost.
inline constexpr const char* kCheckpointNote = "checkpoint";

// A checkpoint arrives as what has changed and is written whole: what it says as a whole is kept
// here.
class DiskStore final : public NodeStore {
 public:
  DiskStore(PodStore pods, std::string checkpoint, CheckpointFormat format);

  CommitResult commit(const StoreBatch& batch) override;

 private:
  Result<void> save_checkpoint();
  Result<void> apply_one_by_one(std::span<const StoreChange> changes, Sync sync);

  PodStore pods_;
  std::string checkpoint_;
  CheckpointFormat format_;
  // What the newest checkpoint says that was asked for, saved or not: the next delta names every
  // pod of one that failed.
  State state_{};
  bool is_checkpoint_noted_ = false;
};

}  // namespace corehold
