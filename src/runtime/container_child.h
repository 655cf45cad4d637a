// SPDX-License-Identifier: Apache-2.0
//
// The last steps of a container's main process before it is the container: it puts itself
// into its confines, its view of the file system, its user and its environment, and runs
// the command.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "runtime/confinement.h"
#include "runtime/runtime.h"

namespace corehold {

// Descriptors that become standard output and standard error.
struct ChildOutput {
  int out = -1;
  int error = -1;
};

// To be called in a fresh child of the monitor, `monitor`. Returns only what has failed.
Error become_container(const Launch& launch, const Confinement& confinement, const Body& body,
                       const ChildOutput& output, pid_t monitor);

}  // namespace corehold
