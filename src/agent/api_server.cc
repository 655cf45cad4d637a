// SPDX-License-Identifier: Apache-2.0
#include "agent/api_server.h"

#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/answer.h"
#include "agent/new_pod.h"
#include "agent/view.h"
#include "api/json_read.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

void answer_text(HttpExchange& exchange, std::string text) {
  exchange.answer({.content_type = "text/plain; charset=utf-8", .body = std::move(text)});
}

void not_found(HttpExchange& exchange) {
  answer_status(exchange, {.reason = StatusReason::kNotFound,
                           .message = "the server could not find the requested resource"});
}

void no_such(HttpExchange& exchange, const std::string& kind, const std::string& name) {
  answer_status(exchange, {.reason = StatusReason::kNotFound,
                           .message = fmt::format("{} {:?} not found", kind, name),
                           .kind = kind,
                           .name = name});
}

// Answers and returns false unless the request is of that method; HEAD goes for GET.
bool is_method(HttpExchange& exchange, std::string_view method) {
  const std::string& asked = exchange.request().method;
  if (asked == method || (asked == "HEAD" && method == "GET")) return true;
  answer_status(exchange, {.reason = StatusReason::kMethodNotAllowed,
                           .message = fmt::format("{:?} is not possible here", asked)});
  return false;
}

json::object version_json(const std::string& version) {
  const std::size_t dot = version.find('.');
  const std::string major = version.substr(0, dot);
  const std::string rest = dot == std::string::npos ? "" : version.substr(dot + 1);
  return {{"major", major},
          {"minor", rest.substr(0, rest.find('.'))},
          {"gitVersion", "v" + version},
          {"platform", "linux"}};
}

// What a deletion may say in its body.
struct DeleteOptions {
  std::optional<std::chrono::seconds> grace{};
  std::string uid{};  // must be the pod's; "": any
};

Result<DeleteOptions> delete_options(const HttpExchange& exchange, const HttpTarget& target) {
  DeleteOptions options;
  if (const auto seconds = TRY(target.number("gracePeriodSeconds"))) {
    options.grace = std::chrono::seconds(*seconds);
  }
  if (exchange.request().body.empty()) return options;
  const json::value body = TRY(parse_json(exchange.request().body));
  const json::object* object = TRY(as_object(body, Path()));
  if (field(*object, "gracePeriodSeconds") != nullptr) {
    const auto seconds = TRY(integer_field(*object, Path(), "gracePeriodSeconds", 0));
    if (seconds < 0) return (Path() / "gracePeriodSeconds").error("must not be negative");
    options.grace = std::chrono::seconds(seconds);
  }
  const json::object* conditions = TRY(object_field(*object, Path(), "preconditions"));
  if (conditions != nullptr) {
    options.uid = TRY(string_field(*conditions, Path() / "preconditions", "uid"));
  }
  return options;
}

}  // namespace

void ApiServer::handle(const HttpExchangePtr& exchange) {
  const auto target = HttpTarget::parse(exchange->request().target);
  if (!target) return answer_error(*exchange, StatusReason::kBadRequest, target.error());
  route(exchange, *target);
}

void ApiServer::route(const HttpExchangePtr& exchange, const HttpTarget& target) {
  const auto& path = target.path;
  if (path.size() >= 3 && path[0] == "api" && path[1] == "v1") return route_core(exchange, target);
  if (path.size() == 4 && path[0] == "apis" && path[1] == "corehold.dev" && path[2] == "v1alpha1") {
    return route_own(exchange, target);
  }
  if (path.size() != 1) return not_found(*exchange);
  if (path[0] != "healthz" && path[0] != "readyz" && path[0] != "livez" && path[0] != "version" &&
      path[0] != "metrics") {
    return not_found(*exchange);
  }
  if (!is_method(*exchange, "GET")) return;
  if (path[0] == "version") return answer_json(*exchange, 200, version_json(parts_.facts.version));
  answer_text(*exchange,
              path[0] == "metrics" ? parts_.metrics.text(parts_.shell.node(), parts_.facts) : "ok");
}

void ApiServer::route_core(const HttpExchangePtr& exchange, const HttpTarget& target) {
  const auto& path = target.path;
  if (path[2] == "nodes" && path.size() <= 4) return route_nodes(*exchange, target);
  if (path.size() == 3 && path[2] == "pods") {
    if (!is_method(*exchange, "GET")) return;
    return answer_json(*exchange, 200,
                       pods_json(parts_.shell.node(), "", parts_.facts, parts_.shell.version()));
  }
  if (path.size() == 3 && path[2] == "events") return route_events(*exchange, "");
  if (path.size() < 5 || path[2] != "namespaces") return not_found(*exchange);
  if (path[4] == "events" && path.size() == 5) return route_events(*exchange, path[3]);
  if (path[4] != "pods") return not_found(*exchange);
  route_pods(exchange, target, path[3]);
}

void ApiServer::route_pods(const HttpExchangePtr& exchange, const HttpTarget& target,
                           const std::string& namespace_name) {
  const auto& path = target.path;
  if (path.size() == 5) {
    if (exchange->request().method == "POST") return create_pod(exchange, namespace_name);
    if (!is_method(*exchange, "GET")) return;
    return answer_json(
        *exchange, 200,
        pods_json(parts_.shell.node(), namespace_name, parts_.facts, parts_.shell.version()));
  }
  const PodState* pod = find_pod(parts_.shell.node(), namespace_name, path[5]);
  if (pod == nullptr) return no_such(*exchange, "pods", path[5]);
  route_pod(exchange, target, *pod);
}

void ApiServer::route_pod(const HttpExchangePtr& exchange, const HttpTarget& target,
                          const PodState& pod) {
  const auto& path = target.path;
  if (path.size() == 7 && path[6] == "log") {
    if (!is_method(*exchange, "GET")) return;
    return serve_log(exchange, target, pod);
  }
  if (path.size() == 7 && path[6] == "status") {
    if (!is_method(*exchange, "GET")) return;
    return answer_pod(*exchange, 200, pod.record.pod.uid);
  }
  if (path.size() != 6) return not_found(*exchange);
  if (exchange->request().method == "DELETE") return delete_pod(exchange, target, pod);
  if (is_method(*exchange, "GET")) answer_pod(*exchange, 200, pod.record.pod.uid);
}

void ApiServer::route_nodes(HttpExchange& exchange, const HttpTarget& target) {
  if (!is_method(exchange, "GET")) return;
  const std::uint64_t version = parts_.shell.version();
  const json::object node = to_json(node_view(parts_.facts, version));
  if (target.path.size() == 3) {
    return answer_json(exchange, 200, node_list_json(json::array{node}, version));
  }
  if (target.path[3] != parts_.facts.name) return no_such(exchange, "nodes", target.path[3]);
  answer_json(exchange, 200, node);
}

void ApiServer::route_events(HttpExchange& exchange, const std::string& namespace_name) {
  if (!is_method(exchange, "GET")) return;
  answer_json(exchange, 200,
              event_list_json(parts_.events.to_json(namespace_name), parts_.shell.version()));
}

void ApiServer::route_own(const HttpExchangePtr& exchange, const HttpTarget& target) {
  if (target.path[3] == "cpus") {
    if (!is_method(*exchange, "GET")) return;
    return answer_json(*exchange, 200, to_json(cpu_map(parts_.shell.node(), parts_.facts)));
  }
  if (target.path[3] != "run") return not_found(*exchange);
  if (is_method(*exchange, "POST")) parts_.runs.open(exchange, parts_.shell, parts_.facts.setup);
}

void ApiServer::create_pod(const HttpExchangePtr& exchange, const std::string& namespace_name) {
  if (!is_dns_label(namespace_name)) {
    return answer_status(*exchange,
                         {.reason = StatusReason::kInvalid,
                          .message = fmt::format("{:?} is no namespace", namespace_name)});
  }
  auto pod = read_new_pod(exchange->request().body, namespace_name);
  if (!pod) return answer_error(*exchange, StatusReason::kBadRequest, pod.error());
  if (const auto accepted = accept_new_pod(*pod); !accepted) {
    return answer_status(*exchange, {.reason = StatusReason::kInvalid,
                                     .message = accepted.error().message,
                                     .kind = "pods",
                                     .name = pod->name});
  }
  if (find_pod(parts_.shell.node(), namespace_name, pod->name) != nullptr) {
    return answer_status(*exchange, {.reason = StatusReason::kAlreadyExists,
                                     .message = fmt::format("pods {:?} already exists", pod->name),
                                     .kind = "pods",
                                     .name = pod->name});
  }
  const RequestId id =
      parts_.requests.add([this, exchange, uid = pod->uid](const std::optional<Error>& error) {
        if (error) return answer_error(*exchange, reason_of(error->code), *error);
        answer_pod(*exchange, 201, uid);
      });
  parts_.shell.submit(CreatePod{.pod = *std::move(pod), .request = id});
}

void ApiServer::delete_pod(const HttpExchangePtr& exchange, const HttpTarget& target,
                           const PodState& pod) {
  const auto options = delete_options(*exchange, target);
  if (!options) return answer_error(*exchange, StatusReason::kBadRequest, options.error());
  const std::string uid = pod.record.pod.uid;
  if (!options->uid.empty() && options->uid != uid) {
    return answer_status(*exchange,
                         {.reason = StatusReason::kConflict,
                          .message = fmt::format("the pod's uid is {}, not {}", uid, options->uid),
                          .kind = "pods",
                          .name = pod.record.pod.name});
  }
  const RequestId id =
      parts_.requests.add([this, exchange, uid](const std::optional<Error>& error) {
        if (error) return answer_error(*exchange, reason_of(error->code), *error);
        answer_pod(*exchange, 200, uid);
      });
  parts_.shell.submit(DeletePod{.uid = uid, .grace = options->grace, .request = id});
}

void ApiServer::serve_log(const HttpExchangePtr& exchange, const HttpTarget& target,
                          const PodState& pod) {
  const Pod& spec = pod.record.pod;
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
  parts_.logs.serve(exchange, target, pod, container);
}

void ApiServer::answer_pod(HttpExchange& exchange, int status, const std::string& uid) {
  const auto pod = parts_.shell.node().pods.find(uid);
  if (pod != parts_.shell.node().pods.end()) {
    return answer_json(exchange, status,
                       pod_json(pod->second, parts_.facts, parts_.shell.version()));
  }
  answer_json(exchange, status,
              {{"kind", "Status"},
               {"apiVersion", "v1"},
               {"metadata", json::object()},
               {"status", "Success"},
               {"details", json::object{{"kind", "pods"}, {"uid", uid}}}});
}

}  // namespace corehold
