// SPDX-License-Identifier: Apache-2.0
//
// The routes of the API: what is asked is read from the catalogue or becomes a command.
#pragma once

#include <string>
#include <string_view>

#include "agent/catalogue.h"
#include "agent/http_target.h"
#include "agent/metrics.h"
#include "agent/node_facts.h"
#include "agent/node_writer.h"
#include "agent/object_reader.h"
#include "agent/pod_logs.h"
#include "agent/pod_writer.h"
#include "agent/requests.h"
#include "agent/resource_path.h"
#include "agent/run_sessions.h"
#include "agent/shell.h"
#include "agent/watchers.h"
#include "sys/http_server.h"

namespace corehold {

// All must outlive the server.
struct ApiParts {
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  Watchers& watchers;
  Metrics& metrics;
  Requests& requests;
  RunSessions& runs;
  PodLogs& logs;
  NodeDocument& document;
  std::function<Result<void>(const NodeDocument&)> save_document{};
  PodRules rules{};
};

class ApiServer {
 public:
  explicit ApiServer(const ApiParts& parts);

  void handle(const HttpExchangePtr& exchange);

 private:
  void route(const HttpExchangePtr& exchange, const HttpTarget& target);
  void route_resource(const HttpExchangePtr& exchange, const HttpTarget& target,
                      const ResourcePath& path);
  void route_pods(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const ResourcePath& path);
  void route_nodes(const HttpExchangePtr& exchange, const HttpTarget& target,
                   const ResourcePath& path);
  void route_own(const HttpExchangePtr& exchange, const HttpTarget& target);
  bool answer_discovery(HttpExchange& exchange, const HttpTarget& target);
  bool answer_plain(HttpExchange& exchange, const HttpTarget& target);
  void serve_log(const HttpExchangePtr& exchange, const HttpTarget& target,
                 const ResourcePath& path);

  ApiParts parts_;
  ObjectReader reader_;
  PodWriter pods_;
  NodeWriter nodes_;
};

}  // namespace corehold
