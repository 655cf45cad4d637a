// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/workspace.h"

#include <exception>

#include <fmt/format.h>

#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/podinfo.h"

namespace corehold {

Result<Launch> Workspace::launch_of(const Start& start) const {
  CHECK(start.pod != nullptr);
  // A library that throws fails this start, and does not end the agent.
  try {
    return make(start);
  } catch (const std::exception& error) {
    return Error{Code::kIo,
                 fmt::format("prepare container {}: {}", start.container.container, error.what())};
  }
}

Result<Launch> Workspace::prepare(const Start& start) const {
  Launch launch = TRY(launch_of(start));
  if (start.process == Start::Process::kWaiting) return launch;
  try {
    TRY(make_volumes(options_.context.root, *start.pod, options_.launcher));
  } catch (const std::exception& error) {
    return Error{Code::kIo,
                 fmt::format("prepare container {}: {}", start.container.container, error.what())};
  }
  return launch;
}

Result<Launch> Workspace::make(const Start& start) const {
  Launch launch =
      TRY(make_launch(*start.pod, start.container.container, start.attempt, options_.context));
  launch.placement = start.placement;
  if (start.process == Start::Process::kOfThePod) return launch;
  CHECK(options_.waiting != nullptr);
  const WaitingProcess waiting = TRY(options_.waiting(start.pod->uid));
  launch.attached = waiting.child;
  launch.attached_to = waiting.client;
  return launch;
}

Result<void> Workspace::write_podinfo(const Pod& pod, const AssignedByContainer& assigned) const {
  return corehold::write_podinfo(pod, assigned, options_.context);
}

Result<void> Workspace::remove(const std::string& uid) const {
  return remove_pod_files(options_.context.root, uid, options_.launcher);
}

}  // namespace corehold
