// SPDX-License-Identifier: Apache-2.0
//
// The clients of `corehold run`. Each has a pod; the connection is open until the command
// may not go, or has ended and given back its CPUs. A client that hangs up before the grant
// takes its pod with it; from then on the runtime watches the client instead.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "agent/run/run_child.h"
#include "agent/shell/requests.h"
#include "agent/shell/shell.h"
#include "agent/view/pod_names.h"
#include "api/pod/pod_rules.h"
#include "node/node_setup.h"
#include "sys/http/http_server.h"
#include "sys/log/log.h"

namespace corehold {

class RunSessions {
 public:
  // All must outlive it.
  RunSessions(Requests& requests, const Log& log, NodeRules rules)
      : requests_(requests), log_(log), rules_(std::move(rules)) {}

  // A request with a RunRequest in its body: answered at once when it is wrong, else message by
  // message as the pod that is made for it proceeds.
  void open(const HttpExchangePtr& exchange, Shell& shell, const PodNames& names,
            const NodeSetup& setup);

  // After each step: tells the clients of the pods with these UIDs what has changed.
  void look(const NodeState& node, std::span<const std::string> touched);

  // The process that the pod stands for. Fails with kNotFound when the client of the pod has gone,
  // and as RunChild::attach().
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
  NodeRules rules_;
  std::map<std::string, Session> sessions_{};  // by the UID of the pod
};

}  // namespace corehold
