// SPDX-License-Identifier: Apache-2.0
//
// The locks that keep a second agent off the same root and, if the agent runs containers, off the
// same machine. Nobody but root and the user of the agent can take them, hold them up or leave
// anything in their place.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sys/file/file_lock.h"

namespace corehold {

// Where the lock of the machine lies.
struct HostLocks {
  // "": there is no directory that only this user can write, and the public lock has to do.
  std::string directory{};
  bool is_optional = false;   // a directory that cannot be used is done without
  std::string public_lock{};  // of version 0.1, FileLock::take_public()
};

// /run/corehold for root, a directory below $XDG_RUNTIME_DIR for other users.
HostLocks host_locks();

struct AgentLocks {
  FileLock root;
  std::optional<FileLock> public_root{};
  std::optional<FileLock> host{};
  std::optional<FileLock> public_host{};
};

// No value for `host`: the agent only simulates, and the machine is not its own. Makes the
// directory of the host's lock. Fails with kConflict when another agent has one of them, naming its
// pid, and with kIo when a lock cannot be taken. REQUIRES: ROOT/run exists.
Result<AgentLocks> take_locks(const std::string& root, const std::optional<HostLocks>& host);

}  // namespace corehold
