// SPDX-License-Identifier: Apache-2.0
//
// The committer: hands what must last to the store, in batches and off the loop. While one batch
// is being written, whatever is asked meanwhile collects in the next: however many writers there
// are at the same time, they share a transaction and a sync. Answers come back on the loop, those
// of a batch together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/commit/node_store.h"
#include "sys/worker.h"

namespace corehold {

// All must outlive the committer.
struct CommitterParts {
  boost::asio::io_context& loop;
  Worker& worker;
  NodeStore& store;
};

// What became of one effect.
struct StoreAnswer {
  StoreEffect effect{};
  std::optional<Error> error{};
};

// What one batch was and took.
struct CommitFigures {
  std::size_t records = 0;  // saved or removed, notes too, in one transaction
  bool are_records_synced = false;
  bool has_checkpoint = false;
  bool records_failed = false;
  bool checkpoint_failed = false;
  std::chrono::nanoseconds took{};
};

class Committer {
 public:
  using Noted = std::function<void(const std::optional<Error>&)>;

  explicit Committer(const CommitterParts& parts);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  // Waits for the batch that is being written. The loop must not run any more.
  ~Committer();

  // Called on the loop after each batch: with the answers, in the order in which the effects were
  // added, and before that with the figures.
  std::function<void(std::vector<StoreAnswer>)> on_answers{};
  std::function<void(const CommitFigures&)> on_commit{};

  // A commit begins when the loop has done what is waiting already, so that requests which have
  // come together are written together; or when the one under way is over.
  void add(StoreEffect effect);
  void add(SaveNote note, Noted noted);

  // Blocks until everything is written, what the answers lead to as well.
  void settle();

  // Blocks until everything is written that was added so far. Nobody is answered any more: these
  // are the answers. What is added later is never written.
  std::vector<StoreAnswer> close();

 private:
  struct Queue {
    StoreBatch batch{};
    std::vector<Noted> noted{};  // one for each note
  };
  struct UnderWay {
    Queue queue{};
    std::uint64_t serial = 0;
    // Written by the worker; not looked at before it is done.
    CommitResult result{};
    std::chrono::nanoseconds took{};
  };

  void expedite();
  void begin();
  void finish(std::uint64_t serial);
  std::vector<StoreAnswer> take_answers();

  CommitterParts parts_;
  Queue queue_{};
  std::optional<UnderWay> under_way_{};
  std::uint64_t serial_ = 0;
  bool is_expected_ = false;  // the loop has been asked to begin
  bool is_closed_ = false;
};

}  // namespace corehold
