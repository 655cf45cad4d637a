// SPDX-License-Identifier: Apache-2.0
//
// The clients of `corehold run`. Each has a pod; the connection is open until the command
// may not go, or has ended and given back its CPUs. A client that hangs up before the grant
// takes its pod with it; from then on the runtime watches the client instead.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "agent/log.h"
#include "agent/requests.h"
#include "agent/shell.h"
#include "sys/http_server.h"

namespace corehold {

// The process that a pod of `corehold run` is about.
struct Attached {
  pid_t child = 0;
  pid_t client = 0;
};

class RunSessions {
 public:
  // All must outlive it.
  RunSessions(Requests& requests, const Log& log) : requests_(requests), log_(log) {}

  // A request with a RunRequest in its body: answered at once when it is wrong, or as the
  // pod that is made for it gets on.
  void open(const HttpExchangePtr& exchange, Shell& shell);

  // After each command.
  void look(const NodeState& node);

  // No value: nobody waits with that pod.
  std::optional<Attached> attached(const std::string& uid) const;

 private:
  struct Session {
    HttpExchangePtr exchange;
    Attached attached{};
    bool is_streaming = false;
    bool has_pod = false;  // it has been seen
    bool granted = false;  // the connection stays until the CPUs are free again
    std::string told{};    // the last reason for waiting
  };

  void refuse(const std::string& uid, const Error& error);
  void lose(const std::string& uid, Shell& shell);
  // Whether the session has come to its end.
  static bool get_on(Session& session, const NodeState& node, const std::string& uid);

  Requests& requests_;
  const Log& log_;
  std::map<std::string, Session> sessions_{};  // by the UID of the pod
};

}  // namespace corehold
