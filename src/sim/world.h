// SPDX-License-Identifier: Apache-2.0
//
// World: a pretend machine with an agent on it, in simulated time. The agent's shell
// hands effects on in their order; what concerns one container, the store or the
// checkpoint is done one after the other, everything else in any order, and each result
// arrives at any later time. The caller decides what happens next. A value: a copy is
// another world with the same past.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "manager/step.h"
#include "sim/pretend_machine.h"
#include "sim/state_changes.h"

namespace corehold {

class World {
 public:
  // `rules` and `empty`, the books of the node before anybody is there, must outlive it.
  // The agent runs and has been told what it has found: nothing.
  World(const ManagerRules& rules, const Bookings& empty);

  // Something that can happen next: an effect is done or a result arrives.
  struct Move {
    ContainerRef lane{};
    bool arrives = false;
  };
  std::vector<Move> moves() const;
  // The effect that a move would do; null for a result that arrives.
  const Effect* effect_of(const Move& move) const;
  void make(const Move& move, Fault fault);
  // Results that arrive so close to each other that the agent takes them together.
  // REQUIRES: each arrives, and each in a lane of its own.
  void make_together(const std::vector<Move>& moves);

  // Tells `changes`, which must outlive the world and its copies, of every step from now on.
  void watch(StateChanges& changes) { changes_ = &changes; }

  // A command from a person. Answers are kept by request.
  void send(const Command& command);
  struct Answer {
    bool done = false;
    std::optional<Grant> grant{};
    std::string error{};
  };
  const std::map<RequestId, Answer>& answers() const { return answers_; }

  // Time passes; a timer that is due fires only by fire_next().
  void wait(std::chrono::milliseconds time);
  // The clock on the wall is put forward or back.
  void put_clock(std::chrono::milliseconds by) { now_.wall += by; }
  // Moves the clock to the earliest timer and fires it. False: there is none.
  bool fire_next();
  // The same for a timer that is due by then.
  bool fire_next_until(SteadyTime then);
  // REQUIRES: the container runs.
  void end(const ContainerRef& ref, int code);

  // The agent is gone with all it has not written down.
  void crash();
  // A new agent finds what the last one left; it may be run under other rules.
  void boot() { boot(*rules_); }
  void boot(const ManagerRules& rules);
  bool is_up() const { return up_; }

  // Lets effects be done and results arrive, without failures, until none is left. False:
  // there is no end of them.
  bool run_lanes();
  // Lets everything happen that is bound to, without failures, until only the reconcile
  // timer is left, which then fires twice. False: it does not come to rest.
  bool settle();

  PretendMachine& machine() { return machine_; }
  const PretendMachine& machine() const { return machine_; }
  const NodeState& node() const { return node_; }
  const ManagerRules& rules() const { return *rules_; }
  const Now& time() const { return now_; }
  std::uint64_t commands() const { return commands_; }
  std::uint64_t effects() const { return effects_; }
  // Containers that were told to leave CPUs and given time for it.
  std::uint64_t delays() const { return delays_; }

  bool is_sound() const { return breaches_.empty() && machine_.breaches().empty(); }
  // Every promise broken so far, by the machine or in the manager's own books.
  std::vector<std::string> breaches() const;
  // Containers that do not run where the checkpoint has them; none once everything has come to
  // rest.
  std::vector<std::string> misplaced() const;
  // What is not as it should be once everything has come to rest.
  std::vector<std::string> unsettled() const;

 private:
  struct Lane {
    std::deque<Effect> effects{};
    std::deque<Command> results{};
  };

  // Whoever does not keep the CPUs that it was put on has to be named by what the agent says.
  void check_said();
  Command arrived(const ContainerRef& lane);
  void take(std::span<const Command> commands);
  void hand_on(Effect effect);
  bool run_timers();
  // Containers of the pod that nothing keeps from running and that do not.
  void find_idle(const std::string& uid, const RunPod& pod, std::vector<std::string>& found) const;

  const ManagerRules* rules_;  // never null
  const Bookings* empty_;      // never null
  PretendMachine machine_;
  StateChanges* changes_ = nullptr;  // null: nobody watches
  Now now_{.steady = std::chrono::hours(1), .wall = std::chrono::hours(24 * 365)};
  bool up_ = false;
  NodeState node_{};
  std::map<ContainerRef, Lane> lanes_{};
  std::map<TimerKey, SteadyTime> timers_{};
  std::map<RequestId, Answer> answers_{};
  std::set<ContainerRef> said_{};  // whom warnings of this agent were about
  std::uint64_t commands_ = 0;
  std::uint64_t effects_ = 0;
  std::uint64_t delays_ = 0;
  std::vector<std::string> breaches_{};
};

}  // namespace corehold
