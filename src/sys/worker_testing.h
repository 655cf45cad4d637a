// SPDX-License-Identifier: Apache-2.0
//
// A Worker without a thread: work is done when a test says so.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "sys/worker.h"

namespace corehold {

class ManualWorker final : public Worker {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    tasks_.push_back({.work = std::move(work), .done = std::move(done)});
  }
  void wait() override {
    for (Task& task : tasks_) do_work(task);
  }

  std::size_t waiting() const { return tasks_.size(); }
  // Does the oldest piece of work and what follows it. False: there is none.
  bool step() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    do_work(task);
    task.done();
    return true;
  }

 private:
  struct Task {
    std::function<void()> work{};  // null: it is done
    std::function<void()> done{};
  };

  static void do_work(Task& task) {
    if (task.work) std::exchange(task.work, nullptr)();
  }

  std::deque<Task> tasks_{};
};

}  // namespace corehold
