// SPDX-License-Identifier: Apache-2.0
#include "sys/process/mark_reader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "sys/process/container_mark.h"
#include "sys/signals_blocked.h"

namespace corehold {

struct MarkReader::State {
  Read read{};
  Patience patience{};
  // Of all below and of all batches: a thread that hangs cannot post anywhere what it has found.
  std::mutex lock{};
  std::condition_variable changed{};
  std::set<pid_t> hung{};  // given up, and a thread still waits for each
};

struct MarkReader::Batch {
  std::vector<pid_t> pids{};
  std::size_t next = 0;
  std::size_t done = 0;
  std::set<pid_t> asked{};  // not answered yet
  Marks marks{};

  bool is_over() const { return done == pids.size(); }

  // Asks one process after the other.
  void work(State& state) {
    std::unique_lock<std::mutex> held(state.lock);
    while (next < pids.size()) {
      const pid_t pid = pids[next++];
      if (state.hung.contains(pid)) {
        marks.unread.push_back(pid);
      } else {
        asked.insert(pid);
        held.unlock();
        auto mark = state.read(pid);
        held.lock();
        state.hung.erase(pid);
        asked.erase(pid);
        if (mark) marks.found.emplace(pid, *std::move(mark));
      }
      ++done;
      state.changed.notify_all();
    }
  }

  // False: there can be no more threads.
  static bool add_thread(const std::shared_ptr<Batch>& batch, const std::shared_ptr<State>& state) {
    const SignalsBlocked blocked;
    try {
      std::thread([batch, state] { batch->work(*state); }).detach();
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }
};

MarkReader::MarkReader() : MarkReader(mark_of, {}) {}

MarkReader::MarkReader(Read read, const Patience& patience) : state_(std::make_shared<State>()) {
  state_->read = std::move(read);
  state_->patience = patience;
}

MarkReader::Marks MarkReader::read(const std::vector<pid_t>& pids) const {
  const auto batch = std::make_shared<Batch>();
  batch->pids = pids;
  State& state = *state_;
  std::size_t threads = 1;
  if (!Batch::add_thread(batch, state_)) batch->work(state);
  std::unique_lock<std::mutex> held(state.lock);
  while (!batch->is_over()) {
    const std::size_t before = batch->done;
    const bool is_last = batch->next == pids.size() || threads >= state.patience.hanging;
    state.changed.wait_for(held, is_last ? state.patience.with_last : state.patience.with_one,
                           [&] { return batch->is_over() || batch->done != before; });
    if (batch->done != before) continue;
    if (is_last || !Batch::add_thread(batch, state_)) break;
    ++threads;
  }
  Marks marks = batch->marks;
  state.hung.insert(batch->asked.begin(), batch->asked.end());
  marks.unread.insert(marks.unread.end(), batch->asked.begin(), batch->asked.end());
  marks.unread.insert(marks.unread.end(), pids.begin() + static_cast<std::ptrdiff_t>(batch->next),
                      pids.end());
  batch->next = pids.size();  // a thread that is answered later asks nobody else
  std::sort(marks.unread.begin(), marks.unread.end());
  return marks;
}

}  // namespace corehold
