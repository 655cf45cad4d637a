// SPDX-License-Identifier: Apache-2.0
//
// The routes of the API: what is asked is read from the node's state or becomes a command.
#pragma once

#include <string>

#include "agent/event_book.h"
#include "agent/http_target.h"
#include "agent/log.h"
#include "agent/metrics.h"
#include "agent/node_facts.h"
#include "agent/pod_logs.h"
#include "agent/requests.h"
#include "agent/run_sessions.h"
#include "agent/shell.h"
#include "sys/http_server.h"

namespace corehold {

// All must outlive the server.
struct ApiParts {
  Shell& shell;
  const NodeFacts& facts;
  const EventBook& events;
  Metrics& metrics;
  Requests& requests;
  RunSessions& runs;
  PodLogs& logs;
};

class ApiServer {
 public:
  explicit ApiServer(const ApiParts& parts) : parts_(parts) {}

  void handle(const HttpExchangePtr& exchange);

 private:
  void route(const HttpExchangePtr& exchange, const HttpTarget& target);
  void route_core(const HttpExchangePtr& exchange, const HttpTarget& target);
  void route_pods(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const std::string& namespace_name);
  void route_pod(const HttpExchangePtr& exchange, const HttpTarget& target, const PodState& pod);
  void route_nodes(HttpExchange& exchange, const HttpTarget& target);
  void route_events(HttpExchange& exchange, const std::string& namespace_name);
  void route_own(const HttpExchangePtr& exchange, const HttpTarget& target);
  void create_pod(const HttpExchangePtr& exchange, const std::string& namespace_name);
  void delete_pod(const HttpExchangePtr& exchange, const HttpTarget& target, const PodState& pod);
  void serve_log(const HttpExchangePtr& exchange, const HttpTarget& target, const PodState& pod);
  void answer_pod(HttpExchange& exchange, int status, const std::string& uid);

  ApiParts parts_;
};

}  // namespace corehold
