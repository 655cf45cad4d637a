// SPDX-License-Identifier: Apache-2.0
//
// The clients of `corehold run`. Each has a pod; the connection is open until the command
// may not go, or has ended and given back its CPUs. A client that hangs up before the grant
// takes its pod with it; from then on the runtime watches the client instead.
#pragma once

#include <map>
#include <string>

#include "agent/log.h"
#include "agent/requests.h"
#include "agent/run_child.h"
#include "agent/shell.h"
#include "sim/node_setup.h"
#include "sys/http_server.h"

namespace corehold {

class RunSessions {
 public:
  // All must outlive it.
  RunSessions(Requests& requests, const Log& log) : requests_(requests), log_(log) {}

  // A request with a RunRequest in its body: answered at once when it is wrong, or as the
  // pod that is made for it gets on.
  void open(const HttpExchangePtr& exchange, Shell& shell, const NodeSetup& setup);

  // After each command.
  void look(const NodeState& node);

  // The process that the pod is about. Fails with kNotFound when nobody waits with that pod
  // any more, and as RunChild::attach().
  Result<Attached> attach(const std::string& uid) const;

 private:
  struct Session {
    HttpExchangePtr exchange;
    RunChild child;
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
