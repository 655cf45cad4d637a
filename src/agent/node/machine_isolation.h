// SPDX-License-Identifier: Apache-2.0
//
// The agent's side of isolation: which level this node has, and a thread of its own that keeps the
// rest of the machine off held CPUs, because that may block and costs as much as the machine has
// tasks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "api/node/node_object.h"
#include "base/result.h"
#include "config/config.h"
#include "cpuset/cpu_set.h"
#include "isolation/level.h"
#include "kernel/isolator.h"
#include "manager/node_state.h"
#include "sys/worker.h"

namespace corehold {

struct IsolationChoice {
  IsolationLevel level = IsolationLevel::kContainers;
  std::string why_not{};  // why it is not more; empty: it is what was asked for
};

// What the node is asked for and can have.
enum class Privilege { kRoot, kNone };
IsolationChoice choose_isolation(const Config& config, Privilege privilege,
                                 const std::optional<FencePlaces>& places);

// What a client is told about the fence, but for since when that is so.
NodeView::Exclusive exclusive_condition(const IsolationChoice& choice, const FenceState& fence);

class MachineIsolation {
 public:
  // The loop must outlive it.
  MachineIsolation(boost::asio::io_context& loop, const std::string& root, FencePlaces places);
  MachineIsolation(const MachineIsolation&) = delete;
  MachineIsolation& operator=(const MachineIsolation&) = delete;

  Result<void> start() { return worker_.start(); }

  // One after the other, each answered on the loop.
  using Done = std::function<void(Result<IsolationReport>)>;
  void ask(const IsolationWish& wish, Done done);

 private:
  SystemdUnits units_{};
  Isolator isolator_;
  WorkerThread worker_;  // the last, so that its work is over before the rest goes
};

}  // namespace corehold
