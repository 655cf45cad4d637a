// SPDX-License-Identifier: Apache-2.0
//
// What the shell acts on beside the runtime: what must last, what pods have on disk, and
// who wants to hear what has happened. Tests have fakes of each.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "manager/effect.h"
#include "runtime/runtime.h"

namespace corehold {

// A save that has answered with success survives anything.
class NodeStore {
 public:
  virtual ~NodeStore() = default;
  virtual Result<void> save_pod(const PodRecord& record) = 0;
  virtual Result<void> forget_pod(const std::string& uid) = 0;
  virtual Result<void> save_checkpoint(const State& state) = 0;
};

// The files of pods, and what the runtime needs to start a container of one.
class Workspace {
 public:
  virtual ~Workspace() = default;
  // Makes what the pod needs on disk.
  virtual Result<Launch> prepare(const PodRecord& record, const StartContainer& start) = 0;
  virtual Result<void> write_podinfo(const Pod& pod,
                                     const std::map<std::string, AssignedCpus>& assigned) = 0;
  virtual Result<void> remove(const std::string& uid) = 0;
};

// Called in the middle of effects: what is asked of the shell from here comes later.
class ShellListener {
 public:
  virtual ~ShellListener() = default;
  virtual void replied(const Reply& reply) = 0;
  virtual void happened(const EmitEvent& event, const NodeState& node) = 0;
  virtual void counted(const CountMetric& metric) = 0;
  // After each command, when all its effects have been run.
  virtual void changed(const NodeState& node) = 0;
};

}  // namespace corehold
