// SPDX-License-Identifier: Apache-2.0
//
// The agent's side of isolation: which level this node has, and a thread of its own that keeps the
// rest of the machine off held CPUs, because that may block and costs as much as the machine has
// tasks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/node/node_object.h"
#include "base/result.h"
#include "config/config.h"
#include "cpuset/cpu_set.h"
#include "isolation/level.h"
#include "kernel/cgroup_watch.h"
#include "kernel/isolator.h"
#include "manager/command.h"
#include "manager/node_state.h"
#include "sys/file/path_watch.h"
#include "sys/log/log.h"
#include "sys/worker.h"

namespace corehold {

struct IsolationChoice {
  IsolationLevel level = IsolationLevel::kContainers;
  std::string why_not{};  // why it is not more; empty: it is what was asked for
};

// What the node is asked for and can have.
enum class Privilege {
  kRoot,
  kRootOfContainer,  // it sees and may change a part of the machine
  kNone,
};
Privilege privilege_here();
IsolationChoice choose_isolation(const Config& config, Privilege privilege,
                                 const std::optional<FencePlaces>& places);

// What a client is told about the fence, but for since when that is so.
NodeView::Exclusive exclusive_condition(const IsolationChoice& choice, const FenceState& fence);

class MachineIsolation {
 public:
  struct Options {
    IsolationLevel level = IsolationLevel::kContainers;
    std::string root{};
    FencePlaces places{};
    const Log& log;
  };

  // The loop and the log must outlive it.
  MachineIsolation(boost::asio::io_context& loop, const Options& options);
  MachineIsolation(const MachineIsolation&) = delete;
  MachineIsolation& operator=(const MachineIsolation&) = delete;

  Result<void> start() { return worker_.start(); }

  // From now on tells the manager when irqbalance has begun anew, and when somebody has made a
  // cgroup. At level containers it gives back what an agent with a higher level has changed, and
  // tries until all of it is.
  using Submit = std::function<void(Command)>;
  void begin(const Submit& submit);

  // Keeps the machine off these CPUs and no others: Isolated or IsolateFailed, on the loop. One
  // after the other.
  void isolate(const CpuSet& held, Submit done);

 private:
  using Done = std::function<void(Result<IsolationReport>)>;
  void ask(const IsolationWish& wish, Done done);
  void follow_irqbalance(const Submit& submit);
  void follow_cgroups(const Submit& submit);
  void give_back();
  void give_back_later(const std::string& error);

  boost::asio::io_context& loop_;
  IsolationLevel level_;
  FencePlaces places_;
  const Log& log_;
  SystemdUnits units_{};
  Isolator isolator_;
  std::unique_ptr<PathWatch> irqbalance_{};  // tells when one begins
  std::unique_ptr<CgroupWatch> cgroups_{};   // tells when somebody makes one
  boost::asio::steady_timer retry_;
  std::chrono::seconds pause_{1};
  WorkerThread worker_;  // the last, so that its work is over before the rest goes
};

}  // namespace corehold
