// SPDX-License-Identifier: Apache-2.0
//
// The shell around the manager: commands in a queue, one step() after the other, the
// effects of each run in order before the next. It decides nothing. Results come back as
// commands at the end of the queue, whether the runtime answers at once or later; those
// that have come by the next step are taken together, so that what an effect on each of
// many containers brings back costs one look at the node and not one for each. What must
// last is handed to the committer and answered later: nothing else waits for it, because
// the manager asks for nothing that depends on it before the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/commit/committer.h"
#include "agent/shell/ports.h"
#include "manager/step.h"
#include "runtime/runtime.h"
#include "sys/log/log.h"

namespace corehold {

// The manager, as the shell calls it.
struct Brain {
  std::function<Outcome(NodeState, std::span<const Command>, const Now&)> step{};
  // Every broken promise; null: promises are not checked.
  std::function<std::vector<std::string>(const NodeState&)> violations{};
};
enum class OnViolation { kLog, kAbort };

// What the shell works with; all of it must outlive the shell, and the loop must not run
// any more when that goes.
struct ShellParts {
  boost::asio::io_context& loop;
  Runner& runtime;
  Committer& store;  // its answers are the shell's
  ShellListener& listener;
  const Log& log;
  std::function<Now()> now{};
  std::function<Result<CpuSet>()> online{};  // the machine's CPUs that are online
  // Keeps the rest of the machine off these CPUs; answers later, on the loop. Null: the manager
  // does not ask for it.
  std::function<void(const CpuSet&, std::function<void(Command)>)> isolate{};
  OnViolation on_violation = OnViolation::kLog;
  std::chrono::milliseconds remove_again{1000};  // after a failure; then twice as long
  // For tests, which look at a node within a delay for as long as they need: while this is so,
  // scale-down delays that have passed are not over. Null: it never is.
  std::function<bool()> are_delays_held{};
};

// Logs each container whose pod the runtime has kept and cannot read.
void warn_of_unread_pods(const std::vector<SeenContainer>& seen, const Log& log);

class Shell {
 public:
  Shell(Brain brain, NodeState node, ShellParts parts);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // Takes the command and, unless the shell is busy already, does all there is to do.
  void submit(Command command);
  // The same for commands that have come together.
  void submit(std::vector<Command> commands);

  // Blocks until everything that must last is written, also what the results of that bring about.
  void settle() { parts_.store.settle(); }
  // Blocks until everything that must last is written. Results are no longer taken.
  void close();

  // A container has ended, as the runtime says.
  void exited(const ContainerRef& container, int attempt, const ContainerExit& exit);

  // Removes the files of a pod that the manager does not know; tried until it succeeds.
  void remove_pod_files(const std::string& uid);

  const NodeState& node() const { return node_; }
  Now now() const { return parts_.now(); }
  // How many steps there have been: what is shown of the node changes only with it.
  std::uint64_t version() const { return version_; }

 private:
  struct Timer {
    std::uint64_t serial;  // tells apart timers of the same key
    boost::asio::steady_timer timer;
  };

  void take(std::span<const Command> commands);
  void check();
  void work_off();
  void run(Effect effect);
  void stored(std::vector<StoreAnswer> answers);
  void warn(const Effect& effect, const Error& error);
  void remove_later(const ContainerRef& what, std::function<void()> again);
  void await(const TimerKey& key, Timer& timer);
  bool is_held(const TimerKey& key) const;

  void run(SavePod effect) { parts_.store.add(std::move(effect)); }
  void run(ForgetPod effect) { parts_.store.add(std::move(effect)); }
  void run(PersistCheckpoint effect) { parts_.store.add(std::move(effect)); }
  void run(const WritePodInfo& effect);
  void run(const SetCpuset& effect);
  void run(const StartContainer& effect);
  void run(const SetSharedCpus& effect);
  void run(const Isolate& effect);
  void run(const StopContainer& effect);
  void run(const RemoveContainer& effect);
  void run(const RemovePodFiles& effect);
  void run(const StartTimer& effect);
  void run(const CancelTimer& effect);
  void run(const Observe& effect);
  void run(const EmitEvent& effect);
  void run(const CountMetric& effect);
  void run(const Reply& effect);

  Brain brain_;
  NodeState node_;
  ShellParts parts_;
  std::vector<Command> queue_{};
  bool is_busy_ = false;
  std::uint64_t version_ = 0;
  std::map<TimerKey, Timer> timers_{};
  std::uint64_t timer_serial_ = 0;
  // Containers, and files of pods (without a container's name), that could not be removed, until
  // the next try.
  std::map<ContainerRef, boost::asio::steady_timer> removals_{};
  std::map<ContainerRef, std::chrono::milliseconds> removal_delays_{};
};

}  // namespace corehold
