// SPDX-License-Identifier: Apache-2.0
#include "agent/api/api_server.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/api/counted_exchange.h"
#include "agent/api/discovery_answer.h"
#include "agent/view/view.h"
#include "api/serve/discovery.h"
#include "serve/answer.h"

namespace corehold {
namespace {

constexpr std::string_view kTextPlain = "text/plain; charset=utf-8";

void answer_text(HttpExchange& exchange, int status, std::string text) {
  exchange.answer(
      {.status = status, .content_type = std::string(kTextPlain), .body = std::move(text)});
}

void not_found(HttpExchange& exchange) {
  answer_status(exchange, {.reason = StatusReason::kNotFound,
                           .message = "the server could not find the requested resource",
                           .has_details = true});
}

void not_allowed(HttpExchange& exchange) {
  answer_status(exchange,
                {.reason = StatusReason::kMethodNotAllowed,
                 .message = "the server does not allow this method on the requested resource",
                 .has_details = true});
}

// HEAD goes for GET.
bool is_get(const HttpExchange& exchange) {
  return exchange.request().method == "GET" || exchange.request().method == "HEAD";
}

bool is_update(const HttpExchange& exchange) {
  return exchange.request().method == "PUT" || exchange.request().method == "PATCH";
}

bool is_health(std::string_view word) {
  return word == "healthz" || word == "livez" || word == "readyz";
}

}  // namespace

ApiServer::ApiServer(const ApiParts& parts)
    : parts_(parts),
      reader_(parts.catalogue, parts.watchers),
      pods_({.loop = parts.loop,
             .shell = parts.shell,
             .facts = parts.facts,
             .catalogue = parts.catalogue,
             .names = parts.names,
             .requests = parts.requests,
             .rules = parts.rules}),
      nodes_({.loop = parts.loop,
              .shell = parts.shell,
              .facts = parts.facts,
              .catalogue = parts.catalogue,
              .document = parts.document,
              .save = parts.save_document}) {}

void ApiServer::handle(const HttpExchangePtr& exchange) {
  const auto target = HttpTarget::parse(exchange->request().target);
  if (!target) return answer_error(*exchange, StatusReason::kBadRequest, target.error());
  route(counted(exchange, *target, parts_.metrics), *target);
}

void ApiServer::route(const HttpExchangePtr& exchange, const HttpTarget& target) {
  if (const auto path = resource_path(target.path)) {
    return route_resource(exchange, target, *path);
  }
  if (answer_discovery(*exchange, target) || answer_plain(*exchange, target)) return;
  if (target.path.size() == 4 && target.path[0] == "apis" && target.path[1] == kOwnGroup &&
      target.path[2] == kOwnVersion) {
    return route_own(exchange, target);
  }
  not_found(*exchange);
}

void ApiServer::route_resource(const HttpExchangePtr& exchange, const HttpTarget& target,
                               const ResourcePath& path) {
  if (path.resource == Resource::kPods) return route_pods(exchange, target, path);
  if (path.resource == Resource::kNodes) return route_nodes(exchange, target, path);
  if (!is_get(*exchange)) return not_allowed(*exchange);
  reader_.answer(exchange, target, path);
}

void ApiServer::route_pods(const HttpExchangePtr& exchange, const HttpTarget& target,
                           const ResourcePath& path) {
  const std::string& method = exchange->request().method;
  if (is_get(*exchange)) {
    if (path.subresource == "log") return serve_log(exchange, target, path);
    return reader_.answer(exchange, target, path);
  }
  const bool is_one = !path.name.empty();
  if (is_update(*exchange) && is_one && path.subresource != "log") {
    return pods_.update(exchange, target, path);
  }
  if (method == "POST" && !is_one && !path.namespace_name.empty()) {
    return pods_.create(exchange, target, path);
  }
  if (method == "DELETE" && path.subresource.empty() && !path.namespace_name.empty()) {
    return is_one ? pods_.remove(exchange, target, path) : pods_.remove_all(exchange, target, path);
  }
  not_allowed(*exchange);
}

void ApiServer::route_nodes(const HttpExchangePtr& exchange, const HttpTarget& target,
                            const ResourcePath& path) {
  if (is_get(*exchange)) return reader_.answer(exchange, target, path);
  if (is_update(*exchange) && !path.name.empty()) return nodes_.update(exchange, target, path);
  not_allowed(*exchange);
}

void ApiServer::route_own(const HttpExchangePtr& exchange, const HttpTarget& target) {
  const std::string& name = target.path[3];
  if (name == "cpus") {
    if (!is_get(*exchange)) return not_allowed(*exchange);
    return answer_json(*exchange, 200,
                       to_json(cpu_map(parts_.shell.node(), parts_.facts, parts_.shell.now())));
  }
  if (name != "run") return not_found(*exchange);
  if (exchange->request().method != "POST") return not_allowed(*exchange);
  parts_.runs.open(exchange, parts_.shell, parts_.names, parts_.facts.setup);
}

bool ApiServer::answer_discovery(HttpExchange& exchange, const HttpTarget& target) {
  if (!is_discovery(target.path)) return false;
  if (!is_get(exchange)) {
    not_allowed(exchange);
  } else {
    exchange.answer(discovery_answer(
        target.path, exchange.request(),
        {.corehold = parts_.facts.version, .platform = "linux/" + parts_.facts.architecture}));
  }
  return true;
}

bool ApiServer::answer_plain(HttpExchange& exchange, const HttpTarget& target) {
  const auto& path = target.path;
  const bool is_one_check = path.size() == 2 && is_health(path[0]);
  const bool is_plain = path.size() == 1 && (is_health(path[0]) || path[0] == "metrics");
  if (!is_plain && !is_one_check) return false;
  if (!is_get(exchange)) {
    not_allowed(exchange);
  } else if (is_one_check && path[1] != "ping") {
    answer_text(exchange, 404, "404 page not found\n");
  } else if (path[0] == "metrics") {
    exchange.answer({.content_type = std::string(kMetricsContentType),
                     .body = parts_.metrics.text(parts_.shell.node(), parts_.facts)});
  } else if (target.query.contains("verbose")) {
    answer_text(exchange, 200, fmt::format("[+]ping ok\n{} check passed\n", path[0]));
  } else {
    answer_text(exchange, 200, "ok");
  }
  return true;
}

void ApiServer::serve_log(const HttpExchangePtr& exchange, const HttpTarget& target,
                          const ResourcePath& path) {
  const RunPod* pod = parts_.names.find(parts_.shell.node(), path.namespace_name, path.name);
  if (pod == nullptr) return answer_status(*exchange, no_such_object(path));
  const Pod& spec = pod->record.pod;
  std::string container = target.parameter("container");
  if (container.empty() && spec.containers.size() == 1) container = spec.containers.front().name;
  if (container.empty()) {
    std::vector<std::string> names;
    for (const Container* each : in_starting_order(spec)) names.push_back(each->name);
    return answer_status(
        *exchange, {.reason = StatusReason::kBadRequest,
                    .message = fmt::format("a container name must be specified for pod {}, choose "
                                           "one of: {}",
                                           spec.name, fmt::join(names, ", "))});
  }
  if (spec.find(container) == nullptr) {
    return answer_status(*exchange, {.reason = StatusReason::kBadRequest,
                                     .message = fmt::format("container {} is not valid for pod {}",
                                                            container, spec.name)});
  }
  parts_.logs.serve(exchange, target, *pod, container);
}

}  // namespace corehold
