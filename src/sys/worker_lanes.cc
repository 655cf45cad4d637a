// SPDX-License-Identifier: Apache-2.0
#include "sys/worker_lanes.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "sys/signals_blocked.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostIdle = 2;
constexpr std::chrono::seconds kPatience{2};

}  // namespace

// Guarded by a lock: the lanes are shared by threads that come and go, and work that hangs must
// not keep the loop from taking the rest of its lane back, which posting to the thread would.
struct WorkerLanes::State {
  struct Task {
    std::function<void()> work{};
    std::function<void()> done{};
  };
  // While a lane is here it is in `ready`, or a thread has it.
  struct Lane {
    std::deque<Task> tasks{};
    bool is_held = false;  // by a thread, which works on the first task
    SteadyClock::time_point since{};
  };

  explicit State(asio::io_context& the_loop) : loop(&the_loop) {}

  std::mutex lock{};
  std::condition_variable changed{};
  asio::io_context* loop;                        // null: closing, what was given is still done
  bool is_abandoned = false;                     // the lanes are gone
  std::vector<std::function<void()>> unasked{};  // what was to follow work, without a loop
  std::map<std::string, Lane> lanes{};
  std::deque<std::string> ready{};
  std::size_t threads = 0;
  std::size_t idle = 0;
  std::size_t starting = 0;  // threads that have not looked for a lane yet
  // Keeps the loop running while there is anything to be done.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> busy{};

  std::size_t hung(std::chrono::milliseconds patience) const;
  void serve();
  void work_on(const std::string& name, std::unique_lock<std::mutex>& held);
};

std::size_t WorkerLanes::State::hung(std::chrono::milliseconds patience) const {
  const auto latest = SteadyClock::now() - patience;
  return static_cast<std::size_t>(std::count_if(lanes.begin(), lanes.end(), [&](const auto& one) {
    return one.second.is_held && one.second.since <= latest;
  }));
}

void WorkerLanes::State::serve() {
  std::unique_lock<std::mutex> held(lock);
  --starting;
  while (true) {
    if (!ready.empty()) {
      const std::string name = std::move(ready.front());
      ready.pop_front();
      work_on(name, held);
      continue;
    }
    if (loop == nullptr || idle >= kMostIdle) break;
    ++idle;
    changed.wait(held);
    --idle;
  }
  --threads;
  changed.notify_all();
}

// One task: other lanes that are ready have waited longer than this lane's next task.
void WorkerLanes::State::work_on(const std::string& name, std::unique_lock<std::mutex>& held) {
  Lane& lane = lanes.at(name);  // stays where it is until it is erased below, or all are
  lane.is_held = true;
  lane.since = SteadyClock::now();
  std::function<void()> work = std::move(lane.tasks.front().work);
  held.unlock();
  work();
  work = nullptr;
  held.lock();
  if (is_abandoned) return;
  if (loop == nullptr) {
    unasked.push_back(std::move(lane.tasks.front().done));
  } else {
    asio::post(*loop, std::move(lane.tasks.front().done));
  }
  lane.tasks.pop_front();
  lane.is_held = false;
  if (lane.tasks.empty()) {
    lanes.erase(name);
  } else {
    ready.push_back(name);
  }
  if (lanes.empty()) busy.reset();
}

WorkerLanes::WorkerLanes(asio::io_context& loop, const WorkerLimits& limits)
    : state_(std::make_shared<State>(loop)), limits_(limits), look_again_(loop) {}

WorkerLanes::~WorkerLanes() {
  // Go without the lock: they may hold anything.
  std::map<std::string, State::Lane> dropped;
  std::vector<std::function<void()>> unasked;
  std::unique_lock<std::mutex> held(state_->lock);
  state_->loop = nullptr;
  state_->busy.reset();
  state_->changed.notify_all();
  state_->changed.wait_for(held, kPatience, [this] { return state_->threads == 0; });
  state_->is_abandoned = true;
  state_->ready.clear();
  dropped = std::exchange(state_->lanes, {});
  unasked = std::exchange(state_->unasked, {});
}

void WorkerLanes::run(const std::string& lane, std::function<void()> work,
                      std::function<void()> done) {
  State& state = *state_;
  std::unique_lock<std::mutex> held(state.lock);
  if (!state.busy) state.busy.emplace(state.loop->get_executor());
  State::Lane& own = state.lanes[lane];
  own.tasks.push_back({.work = std::move(work), .done = std::move(done)});
  if (own.is_held || own.tasks.size() > 1) return;
  state.ready.push_back(lane);
  state.changed.notify_one();
  add_threads();
  if (state.threads > 0) return;
  state.ready.pop_back();
  state.work_on(lane, held);
}

// A thread for each lane that is ready, as far as there may be more; looks again later for those
// that have none.
void WorkerLanes::add_threads() {
  State& state = *state_;
  while (state.ready.size() > state.idle + state.starting) {
    const bool may_add = state.threads < limits_.threads + state.hung(limits_.patience);
    if (may_add && add_thread()) continue;
    if (std::exchange(looks_again_, true)) return;
    look_again_.expires_after(limits_.patience);
    look_again_.async_wait([this, shared = state_](boost::system::error_code error) {
      const std::unique_lock<std::mutex> held(shared->lock);
      if (error || shared->loop == nullptr) return;  // the lanes may have gone
      looks_again_ = false;
      add_threads();
    });
    return;
  }
}

bool WorkerLanes::add_thread() {
  const SignalsBlocked blocked;
  try {
    std::thread([shared = state_] { shared->serve(); }).detach();
    ++state_->threads;
    ++state_->starting;
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace corehold
