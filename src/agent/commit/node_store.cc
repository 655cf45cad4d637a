// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/node_store.h"

#include <algorithm>

namespace corehold {

bool needs_sync(const StoreBatch& batch) {
  struct Asks {
    bool operator()(const SavePod& effect) const {
      return effect.durability == Durability::kSynced;
    }
    bool operator()(const ForgetPod& effect) const {
      return effect.durability == Durability::kSynced;
    }
    bool operator()(const PersistCheckpoint&) const { return false; }  // synced by itself
  };
  return !batch.notes.empty() ||
         std::any_of(batch.effects.begin(), batch.effects.end(),
                     [](const StoreEffect& effect) { return std::visit(Asks{}, effect); });
}

bool may_use_reserve(const StoreEffect& effect) {
  struct Ends {
    bool operator()(const SavePod& save) const { return save.record.deleted_at != WallTime{}; }
    bool operator()(const ForgetPod&) const { return true; }
    bool operator()(const PersistCheckpoint&) const { return true; }
  };
  return std::visit(Ends{}, effect);
}

}  // namespace corehold
