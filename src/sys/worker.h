// SPDX-License-Identifier: Apache-2.0
//
// A thread for calls that may block, beside the loop's. It owns nothing: a piece of work reads
// and writes only what its caller leaves alone until it is done. Pieces are done one after the
// other, in the order given.
#pragma once

#include <functional>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/result.h"

namespace corehold {

// Called from the loop's thread only. Tests have one that works when it is told to
// (sys/worker_testing.h).
class Worker {
 public:
  virtual ~Worker() = default;

  // Does `work` on the worker's thread, then runs `done` on the loop, which has something to do
  // until then. Neither may throw.
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;

  // Blocks until all work given so far is done. What follows it still has to be run by the loop.
  virtual void wait() = 0;
};

// The loop must outlive it.
class WorkerThread final : public Worker {
 public:
  explicit WorkerThread(boost::asio::io_context& loop);
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  // Does all work it was given, if it was started.
  ~WorkerThread() override;

  // What it is given before waits. Fails with kIo when the system gives no thread. Signals are
  // left to other threads. REQUIRES: it was not started yet.
  Result<void> start();

  void run(std::function<void()> work, std::function<void()> done) override;
  // REQUIRES: it was started.
  void wait() override;

 private:
  boost::asio::io_context& loop_;
  // What is to be done: the queue of another loop, so that no lock of ours is needed.
  boost::asio::io_context tasks_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_;
  std::thread thread_{};
};

}  // namespace corehold
