// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/disk_store.h"

#include <utility>
#include <vector>

#include "manager/record_json.h"
#include "store/checkpoint_file.h"
#include "sys/file/disk_full.h"

namespace corehold {
namespace {

// Collects what one batch changes.
struct RecordChanges {
  State& state;  // brought in step with each checkpoint
  std::vector<StoreChange> records{};
  std::vector<StoreChange> endings{};  // those of the records that may use the reserve
  bool has_checkpoint = false;

  void add(StoreChange change, const StoreEffect& effect) {
    if (may_use_reserve(effect)) endings.push_back(change);
    records.push_back(std::move(change));
  }
  void add(const StoreEffect& effect) {
    if (const auto* save = std::get_if<SavePod>(&effect)) {
      const PodRecord& record = save->record;
      add(
          StoredPod{
              .uid = record.pod.uid, .sequence = record.sequence, .record = write_record(record)},
          effect);
    } else if (const auto* forget = std::get_if<ForgetPod>(&effect)) {
      add(ForgottenPod{.uid = forget->uid}, effect);
    } else {
      apply(state, std::get<PersistCheckpoint>(effect).delta);
      has_checkpoint = true;
    }
  }
};

}  // namespace

DiskStore::DiskStore(PodStore pods, std::string checkpoint, CheckpointFormat format)
    : pods_(std::move(pods)), checkpoint_(std::move(checkpoint)), format_(format) {
  keep_checkpoint_spare(checkpoint_);
  const auto note = pods_.note(kCheckpointNote);
  is_checkpoint_noted_ = note && !note->empty();
}

CommitResult DiskStore::commit(const StoreBatch& batch) {
  RecordChanges changes{.state = state_};
  for (const StoreEffect& effect : batch.effects) changes.add(effect);
  for (const SaveNote& note : batch.notes) {
    changes.records.emplace_back(StoredNote{.key = note.key, .text = note.text});
  }
  const Sync sync = needs_sync(batch) ? Sync::kAtOnce : Sync::kLater;
  const bool are_all_endings = changes.endings.size() == changes.records.size();
  CommitResult result{.records =
                          pods_.apply(changes.records, sync,
                                      are_all_endings ? Room::kUseReserve : Room::kLeaveReserve)};
  if (!result.records && is_disk_full(result.records.error()) && !are_all_endings &&
      !changes.endings.empty()) {
    result.refused_others = result.records.error();
    result.records = pods_.apply(changes.endings, sync, Room::kUseReserve);
  }
  if (!result.records && is_disk_full(result.records.error()) && !changes.endings.empty()) {
    result.records = apply_one_by_one(changes.endings, sync);
  }
  if (changes.has_checkpoint) result.checkpoint = save_checkpoint();
  return result;
}

// The reserve is for one record at a time. What was saved before one fails is saved again by the
// next attempt, which changes nothing.
Result<void> DiskStore::apply_one_by_one(std::span<const StoreChange> changes, Sync sync) {
  for (const StoreChange& change : changes) {
    TRY(pods_.apply({&change, 1}, sync, Room::kUseReserve));
  }
  return {};
}

Result<void> DiskStore::save_checkpoint() {
  TRY(corehold::save_checkpoint(checkpoint_, state_, format_));
  keep_checkpoint_spare(checkpoint_);
  if (is_checkpoint_noted_) return {};
  const StoreChange note = StoredNote{.key = kCheckpointNote, .text = "saved"};
  is_checkpoint_noted_ = pods_.apply({&note, 1}, Sync::kLater).has_value();
  return {};
}

}  // namespace corehold
