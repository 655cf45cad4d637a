// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/disk_store.h"

#include <vector>

#include "manager/record_json.h"
#include "store/checkpoint_file.h"

namespace corehold {
namespace {

// Collects what one batch changes.
struct Changes {
  State& state;  // brought in step with each checkpoint
  std::vector<StoreChange> records{};
  bool has_checkpoint = false;

  void operator()(const SavePod& effect) {
    const PodRecord& record = effect.record;
    records.emplace_back(StoredPod{
        .uid = record.pod.uid, .sequence = record.sequence, .record = write_record(record)});
  }
  void operator()(const ForgetPod& effect) {
    records.emplace_back(ForgottenPod{.uid = effect.uid});
  }
  void operator()(const PersistCheckpoint& effect) {
    apply(state, effect.delta);
    has_checkpoint = true;
  }
};

}  // namespace

CommitResult DiskStore::commit(const StoreBatch& batch) {
  Changes changes{.state = state_};
  for (const StoreEffect& effect : batch.effects) std::visit(changes, effect);
  for (const SaveNote& note : batch.notes) {
    changes.records.emplace_back(StoredNote{.key = note.key, .text = note.text});
  }
  const Sync sync = needs_sync(batch) ? Sync::kAtOnce : Sync::kLater;
  CommitResult result{.records = pods_.apply(changes.records, sync)};
  if (changes.has_checkpoint) result.checkpoint = save_checkpoint(checkpoint_, state_, format_);
  return result;
}

}  // namespace corehold
