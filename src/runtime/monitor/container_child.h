// SPDX-License-Identifier: Apache-2.0
//
// The last steps of a container's main process before it is the container: it puts itself
// into its view of the file system, its user and its environment, and runs
// the command.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "runtime/container_launch.h"

namespace corehold {

// Descriptors that become standard output and standard error.
struct ChildOutput {
  int out = -1;
  int error = -1;
};

// To be called in a fresh child of the monitor, which has put it into its confines.
// `directory` is the container's. Returns only what has failed.
Error become_container(const Launch& launch, const std::string& directory,
                       const ChildOutput& output, pid_t monitor);

}  // namespace corehold
