// SPDX-License-Identifier: Apache-2.0
//
// The process that a client of `corehold run` offers: its own child, which waits to be let
// go. Client and child are held by descriptors from the first check on, because numbers of
// processes are used again, and are checked once more when the child is taken in.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "sys/descriptor.h"
#include "sys/http/http_server.h"
#include "sys/process/process.h"

namespace corehold {

// By number, for the runtime.
struct Attached {
  pid_t child = 0;
  pid_t client = 0;
};

class RunChild {
 public:
  // Fails with kUnsupported when the child is not the caller's own or belongs to another
  // user: a client may have only its own processes moved.
  static Result<RunChild> hold(const Peer& peer, pid_t child);

  // Fails with kNotFound when client or child has gone, and kUnsupported when the child has
  // become another user's.
  Result<Attached> attach() const;

 private:
  struct Held {
    ProcessId id{};
    Descriptor descriptor;  // readable when it has ended
  };
  RunChild(Held child, Held client, uid_t user)
      : child_(std::move(child)), client_(std::move(client)), user_(user) {}

  static Result<Held> hold(pid_t pid);
  Result<void> check() const;

  Held child_;
  Held client_;
  uid_t user_;
};

}  // namespace corehold
