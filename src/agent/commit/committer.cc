// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/committer.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

namespace corehold {
namespace {

bool is_checkpoint(const StoreEffect& effect) {
  return std::holds_alternative<PersistCheckpoint>(effect);
}

std::optional<Error> error_of(const Result<void>& result) {
  if (result) return std::nullopt;
  return result.error();
}

// What became of a record or a note.
std::optional<Error> record_error(const CommitResult& result, bool uses_reserve) {
  if (result.refused_others && !uses_reserve) return result.refused_others;
  return error_of(result.records);
}

}  // namespace

Committer::Committer(const CommitterParts& parts) : parts_(parts) {}

Committer::~Committer() {
  if (under_way_) parts_.worker.wait();
}

void Committer::add(StoreEffect effect) {
  queue_.batch.effects.push_back(std::move(effect));
  expedite();
}

void Committer::add(SaveNote note, Noted noted) {
  queue_.batch.notes.push_back(std::move(note));
  queue_.noted.push_back(std::move(noted));
  expedite();
}

void Committer::expedite() {
  if (under_way_ || is_closed_ || std::exchange(is_expected_, true)) return;
  boost::asio::post(parts_.loop, [this] {
    is_expected_ = false;
    begin();
  });
}

void Committer::begin() {
  if (under_way_ || is_closed_ || queue_.batch.empty()) return;
  under_way_.emplace(UnderWay{.queue = std::exchange(queue_, {}), .serial = ++serial_});
  parts_.worker.run(
      [this] {
        const auto begun = std::chrono::steady_clock::now();
        under_way_->result = parts_.store.commit(under_way_->queue.batch);
        under_way_->took = std::chrono::steady_clock::now() - begun;
      },
      [this, serial = serial_] { finish(serial); });
}

void Committer::finish(std::uint64_t serial) {
  // Somebody may have waited for it and not for the loop.
  if (!under_way_ || under_way_->serial != serial) return;
  std::vector<Noted> noted = std::move(under_way_->queue.noted);
  const std::optional<Error> note_error = record_error(under_way_->result, false);
  std::vector<StoreAnswer> answers = take_answers();
  if (on_answers && !answers.empty()) on_answers(std::move(answers));
  for (const Noted& each : noted) each(note_error);
  if (!queue_.batch.empty()) expedite();
}

std::vector<StoreAnswer> Committer::take_answers() {
  UnderWay done = *std::move(under_way_);
  under_way_.reset();
  StoreBatch& batch = done.queue.batch;
  const auto checkpoints = std::count_if(batch.effects.begin(), batch.effects.end(), is_checkpoint);
  if (on_commit) {
    on_commit({.records = batch.effects.size() - static_cast<std::size_t>(checkpoints) +
                          batch.notes.size(),
               .are_records_synced = needs_sync(batch),
               .has_checkpoint = checkpoints > 0,
               .records_failed = !done.result.records || done.result.refused_others,
               .checkpoint_failed = !done.result.checkpoint,
               .took = done.took});
  }
  std::vector<StoreAnswer> answers;
  answers.reserve(batch.effects.size());
  for (StoreEffect& effect : batch.effects) {
    std::optional<Error> error = is_checkpoint(effect)
                                     ? error_of(done.result.checkpoint)
                                     : record_error(done.result, may_use_reserve(effect));
    answers.push_back({.effect = std::move(effect), .error = std::move(error)});
  }
  return answers;
}

void Committer::settle() {
  begin();
  while (under_way_) {
    parts_.worker.wait();
    finish(serial_);
    begin();
  }
}

std::vector<StoreAnswer> Committer::close() {
  std::vector<StoreAnswer> answers;
  for (int rounds = 0; rounds < 2; ++rounds) {
    if (under_way_) {
      parts_.worker.wait();
      std::vector<StoreAnswer> more = take_answers();
      std::move(more.begin(), more.end(), std::back_inserter(answers));
    }
    begin();
  }
  CHECK(!under_way_);
  is_closed_ = true;
  return answers;
}

}  // namespace corehold
