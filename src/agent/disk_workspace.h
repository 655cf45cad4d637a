// SPDX-License-Identifier: Apache-2.0
//
// The Workspace on disk, under the agent's root.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/ports.h"
#include "agent/run_sessions.h"
#include "runtime/launch.h"
#include "runtime/launcher.h"

namespace corehold {

class DiskWorkspace final : public Workspace {
 public:
  // `runs` must outlive it.
  DiskWorkspace(LaunchContext context, const RunSessions& runs, Launcher launcher)
      : context_(std::move(context)), runs_(runs), launcher_(std::move(launcher)) {}

  // Fails with kNotFound for a pod of `corehold run` whose client has gone.
  Result<Launch> prepare(const PodRecord& record, const StartContainer& start) override;
  Result<void> write_podinfo(const Pod& pod,
                             const std::map<std::string, AssignedCpus>& assigned) override;
  Result<void> remove(const std::string& uid) override;

 private:
  Result<Launch> launch_of(const PodRecord& record, const StartContainer& start);

  LaunchContext context_;
  const RunSessions& runs_;
  Launcher launcher_;
};

}  // namespace corehold
