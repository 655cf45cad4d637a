// SPDX-License-Identifier: Apache-2.0
//
// Workspace: what the pods of the process runtime and of the simulated one have on disk under
// the agent's root, and the launch that is made of a pod.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "container/placement.h"
#include "pod/pod.h"
#include "runtime/monitor/launcher.h"
#include "runtime/runtime.h"
#include "runtime/workspace/launch.h"

namespace corehold {

// A process that waits to be let go, and the client whose child it is.
struct WaitingProcess {
  pid_t child = 0;
  pid_t client = 0;
};

struct WorkspaceOptions {
  LaunchContext context{};
  Launcher launcher{};
  // The process that waits with the pod of that UID. Fails with kNotFound when its client has
  // gone.
  std::function<Result<WaitingProcess>(const std::string& uid)> waiting{};
};

class Workspace {
 public:
  explicit Workspace(WorkspaceOptions options) : options_(std::move(options)) {}

  // Makes nothing: the volumes are for make_volumes(). Fails as make_launch() and `waiting` do.
  Result<Launch> launch_of(const Start& start) const;
  // The same, and makes what the pod needs on disk.
  Result<Launch> prepare(const Start& start) const;
  Result<void> write_podinfo(const Pod& pod, const AssignedByContainer& assigned) const;
  Result<void> remove(const std::string& uid) const;

 private:
  Result<Launch> make(const Start& start) const;

  WorkspaceOptions options_;
};

}  // namespace corehold
