// SPDX-License-Identifier: Apache-2.0
//
// What must last of a node: the records of its pods, the checkpoint, a few notes. It is written
// in batches, each with as few syncs as there can be: one transaction and one checkpoint.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "manager/effect.h"

namespace corehold {

// The effects that a store carries out.
using StoreEffect = std::variant<SavePod, ForgetPod, PersistCheckpoint>;

// A text that is no pod's. Replaces the one under the same key.
struct SaveNote {
  std::string key{};
  std::string text{};
};

struct StoreBatch {
  std::vector<StoreEffect> effects{};  // in the order asked for
  std::vector<SaveNote> notes{};

  bool empty() const { return effects.empty() && notes.empty(); }
};

// Whether records or notes of the batch must survive a power cut.
bool needs_sync(const StoreBatch& batch);

// Whether the effect leads to more room on the disk, and so may use what is kept for that.
bool may_use_reserve(const StoreEffect& effect);

struct CommitResult {
  // Of pods and notes: they succeed or fail together, but for what follows. On a full disk some of
  // what may_use_reserve() may have been saved though this is an error.
  Result<void> records{};
  // The disk is full, and only what may_use_reserve() was saved.
  std::optional<Error> refused_others{};
  Result<void> checkpoint{};
};

class NodeStore {
 public:
  virtual ~NodeStore() = default;

  // First the records, in one transaction, then the checkpoint that all deltas lead to, whether or
  // not the records have failed. The transaction is synced unless nothing of it needs_sync(). What
  // is answered with success survives the agent and, if synced, anything; what fails has changed
  // nothing. Blocks: called on a worker's thread, by one thread at a time.
  virtual CommitResult commit(const StoreBatch& batch) = 0;
};

}  // namespace corehold
