// SPDX-License-Identifier: Apache-2.0
//
// The routes of the API: reads are answered from the catalogue, writes become commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "agent/api/node_writer.h"
#include "agent/api/object_reader.h"
#include "agent/api/pod_logs.h"
#include "agent/api/pod_writer.h"
#include "agent/api/resource_path.h"
#include "agent/api/watchers.h"
#include "agent/metrics/metrics.h"
#include "agent/node/node_facts.h"
#include "agent/run/run_sessions.h"
#include "agent/shell/requests.h"
#include "agent/shell/shell.h"
#include "agent/view/catalogue.h"
#include "agent/view/pod_names.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

// All must outlive the server.
struct ApiParts {
  boost::asio::io_context& loop;
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  const PodNames& names;
  Watchers& watchers;
  Metrics& metrics;
  Requests& requests;
  RunSessions& runs;
  PodLogs& logs;
  NodeDocument& document;
  std::function<void(const NodeDocument&, std::function<void(const std::optional<Error>&)>)>
      save_document{};
  PodRules rules{};
};

class ApiServer {
 public:
  explicit ApiServer(const ApiParts& parts);

  void handle(const HttpExchangePtr& exchange);
  // After each turn of the shell: requests that wait for a turn may go on.
  void look() { pods_.look(); }

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
