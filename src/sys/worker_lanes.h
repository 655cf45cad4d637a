// SPDX-License-Identifier: Apache-2.0
//
// Threads for calls that may take long, for many parties that must not wait for each other. Work
// is given to a lane, which has a name: the pieces of one lane are done one after the other in the
// order given, different lanes side by side. Threads are made when there is work for them; work
// that hangs keeps its thread, in the place of which another one is made for the other lanes. Work
// owns nothing: it has copies, or what its caller leaves alone until it is done.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace corehold {

// There are never more threads than `threads` and one for each lane whose work hangs.
struct WorkerLimits {
  std::size_t threads = 32;
  std::chrono::milliseconds patience{500};  // work that takes longer hangs, or might as well
};

class WorkerLanes {
 public:
  // The loop must outlive it.
  explicit WorkerLanes(boost::asio::io_context& loop, const WorkerLimits& limits = {});
  WorkerLanes(const WorkerLanes&) = delete;
  WorkerLanes& operator=(const WorkerLanes&) = delete;
  // Does the work it was given, but nothing that follows it, for a moment (kPatience), and drops
  // the rest. Work that hangs is left behind: its thread touches nothing of ours any more and ends
  // with the process.
  ~WorkerLanes();

  // Does `work` on another thread, then runs `done` on the loop, which has something to do until
  // then. Neither may throw. When the system gives no thread, the work is done at once by the
  // caller. Called from the loop's thread only.
  void run(const std::string& lane, std::function<void()> work, std::function<void()> done);

 private:
  struct State;

  // Both with the lock of the state held.
  void add_threads();
  bool add_thread();

  // Shared with the threads, which may be left behind.
  std::shared_ptr<State> state_;
  WorkerLimits limits_;
  boost::asio::steady_timer look_again_;  // for work that hangs, while lanes wait for a thread
  bool looks_again_ = false;
};

}  // namespace corehold
