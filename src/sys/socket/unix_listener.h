// SPDX-License-Identifier: Apache-2.0
//
// A Unix socket to listen on, which cannot be reached before it has its mode and group.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

struct UnixListenerOptions {
  std::string path{};
  mode_t mode = 0600;
  gid_t group = static_cast<gid_t>(-1);  // -1: as it comes
};

// Takes the place of a socket that an earlier process has left. The caller removes the
// path. Fails with kInvalid for a path too long for a socket, and with kIo when something
// else is there or the kernel refuses.
Result<Descriptor> listen_on_unix(const UnixListenerOptions& options);

}  // namespace corehold
