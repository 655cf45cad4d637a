// SPDX-License-Identifier: Apache-2.0
#include "cli/client/agent_client.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/client/kubeconfig.h"
#include "pod/pod_json.h"
#include "sys/socket/socket_address.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttpsPort = ":443";

// Of "https://HOST:PORT", or without the port.
Result<SocketAddress> https_address(const std::string& server) {
  std::string text = server.starts_with(kHttps) ? server.substr(kHttps.size()) : "";
  if (text.ends_with('/')) text.pop_back();
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && text.find(']', colon) == std::string::npos;
  auto address = parse_socket_address(has_port ? text : text.append(kHttpsPort));
  if (address) return address;
  return Error{Code::kInvalid, fmt::format("server {:?} must be https://HOST:PORT", server)};
}

// What an answer that is no success says.
ApiStatus failure_of(int status, const std::string& body) {
  if (const auto value = parse_json(body)) {
    if (const auto told = status_from_json(*value)) return *told;
  }
  return {.reason = StatusReason::kInternal,
          .message = fmt::format("the agent answers with HTTP {} and no reason", status)};
}

}  // namespace

void add_agent_options(CLI::App& command, AgentAddress& address) {
  command
      .add_option("--root", address.root,
                  fmt::format("The agent's directory (default: {})", kDefaultRoot))
      ->type_name("DIR");
  command
      .add_option("--server", address.server,
                  "The agent: unix:PATH or https://HOST:PORT (default: the socket in --root)")
      ->type_name("URL");
  command
      .add_option("--kubeconfig", address.kubeconfig,
                  "Authority and token for https (default: kubeconfig in --root), and the server "
                  "unless --server says it")
      ->type_name("FILE");
}

Result<AgentClient> AgentClient::at(const AgentAddress& address) {
  const std::string& server = address.server;
  if (server.starts_with(kUnix) && server.size() > kUnix.size()) {
    return AgentClient(HttpEndpoint{.socket_path = server.substr(kUnix.size())});
  }
  if (server.empty() && address.kubeconfig.empty()) {
    return AgentClient(HttpEndpoint{.socket_path = address.root + "/run/corehold.sock"});
  }
  // Before anything is read: a mistake in the option is told first.
  if (!server.empty() && !server.starts_with(kHttps)) {
    return Error{Code::kInvalid,
                 fmt::format("--server {:?} must be unix:PATH or https://HOST:PORT", server)};
  }
  const std::string file =
      address.kubeconfig.empty() ? address.root + "/kubeconfig" : address.kubeconfig;
  auto credentials = read_kubeconfig(file);
  if (!credentials && address.kubeconfig.empty()) {
    return Error{credentials.error().code,
                 fmt::format("{}; give the agent's with --kubeconfig FILE, {} needs its authority "
                             "and token",
                             credentials.error().message, server)};
  }
  if (!credentials) return credentials.error();
  const SocketAddress place = TRY(https_address(server.empty() ? credentials->server : server));
  return AgentClient(HttpEndpoint{.host = place.host,
                                  .port = place.port,
                                  .authority = std::move(credentials->authority),
                                  .token = std::move(credentials->token)});
}

Result<ApiAnswer> AgentClient::ask(const HttpQuestion& question) const {
  const HttpAnswer answer = TRY(corehold::ask(endpoint_, question));
  if (answer.status < 200 || answer.status > 299) {
    return ApiAnswer{.failure = failure_of(answer.status, answer.body)};
  }
  auto body = parse_json(answer.body);
  if (!body) {
    return Error{Code::kCorrupt,
                 fmt::format("the agent's answer to {} {} is no JSON: {}", question.method,
                             question.target, body.error().message)};
  }
  return ApiAnswer{.body = *std::move(body)};
}

Result<json::value> AgentClient::get(const std::string& target) const {
  ApiAnswer answer = TRY(ask({.target = target}));
  if (answer.failure) return error_of(*answer.failure);
  return std::move(answer.body);
}

Result<HttpStream> AgentClient::open(const HttpQuestion& question) const {
  HttpStream stream = TRY(open_stream(endpoint_, question));
  if (stream.status() >= 200 && stream.status() <= 299) return stream;
  const std::string body = TRY(stream.rest());
  return error_of(failure_of(stream.status(), body));
}

std::string pods_target(std::string_view namespace_name, std::string_view name) {
  std::string target = fmt::format("/api/v1/namespaces/{}/pods", url_escape(namespace_name));
  if (!name.empty()) target += "/" + url_escape(name);
  return target;
}

Result<PodName> pod_name(std::string_view given, std::string_view namespace_option) {
  const std::size_t slash = given.find('/');
  PodName pod{.namespace_name = std::string(namespace_option), .name = std::string(given)};
  if (slash != std::string_view::npos) {
    pod = {.namespace_name = std::string(given.substr(0, slash)),
           .name = std::string(given.substr(slash + 1))};
    if (!namespace_option.empty() && namespace_option != pod.namespace_name) {
      return Error{Code::kInvalid,
                   fmt::format("pod {:?} is not in namespace {:?} of -n", given, namespace_option)};
    }
  }
  if (pod.namespace_name.empty() && slash == std::string_view::npos) pod.namespace_name = "default";
  if (pod.name.empty() || pod.namespace_name.empty() || pod.name.find('/') != std::string::npos) {
    return Error{Code::kInvalid, fmt::format("{:?} is no pod: give NAME or NAMESPACE/NAME", given)};
  }
  return pod;
}

std::string display_name(const PodName& pod) {
  return fmt::format("{}/{}", pod.namespace_name, pod.name);
}

}  // namespace corehold
