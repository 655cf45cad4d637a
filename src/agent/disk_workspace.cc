// SPDX-License-Identifier: Apache-2.0
#include "agent/disk_workspace.h"

#include <exception>

#include <fmt/format.h>

#include "runtime/pod_files.h"
#include "runtime/podinfo.h"

namespace corehold {

// A library that throws fails this start, and does not end the agent.
Result<Launch> DiskWorkspace::prepare(const PodRecord& record, const StartContainer& start) {
  try {
    return launch_of(record, start);
  } catch (const std::exception& error) {
    return Error{Code::kIo,
                 fmt::format("prepare container {}: {}", start.container.container, error.what())};
  }
}

Result<Launch> DiskWorkspace::launch_of(const PodRecord& record, const StartContainer& start) {
  Launch launch = TRY(make_launch(record.pod, start.container.container, start.attempt, context_));
  if (record.source != Source::kRun && record.source != Source::kRunWaiting) {
    TRY(make_volumes(context_.root, record.pod, launcher_));
    return launch;
  }
  const Attached attached = TRY(runs_.attach(record.pod.uid));
  launch.attached = attached.child;
  launch.attached_to = attached.client;
  return launch;
}

Result<void> DiskWorkspace::write_podinfo(const Pod& pod,
                                          const std::map<std::string, AssignedCpus>& assigned) {
  std::map<std::string, Assigned> by_container;
  for (const auto& [name, own] : assigned) {
    by_container[name] = {.cpus = own.cpus, .mems = own.mems};
  }
  return corehold::write_podinfo(pod, by_container, context_);
}

Result<void> DiskWorkspace::remove(const std::string& uid) {
  return remove_pod_files(context_.root, uid, launcher_);
}

}  // namespace corehold
