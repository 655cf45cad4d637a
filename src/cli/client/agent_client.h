// SPDX-License-Identifier: Apache-2.0
//
// How commands reach the agent: where it is, and its API over the socket there or over TLS.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "api/status.h"
#include "base/result.h"
#include "sys/http/http_client.h"

namespace CLI {
class App;
}

namespace corehold {

inline constexpr std::string_view kDefaultRoot = "/var/lib/corehold";

// As the options give it.
struct AgentAddress {
  std::string root{kDefaultRoot};
  std::string server{};      // "unix:PATH" or "https://HOST:PORT"; "": the socket under root
  std::string kubeconfig{};  // with the authority and token for https; "": that under root
};

// Adds --root, --server and --kubeconfig.
void add_agent_options(CLI::App& command, AgentAddress& address);

// What the API has said: the answer's body, or why not.
struct ApiAnswer {
  boost::json::value body{};
  std::optional<ApiStatus> failure{};
};

class AgentClient {
 public:
  // With a kubeconfig and no server, it is the kubeconfig's. Fails with kInvalid for a server
  // that is neither unix:PATH nor https://HOST:PORT, and as read_kubeconfig() for https.
  static Result<AgentClient> at(const AgentAddress& address);

  const HttpEndpoint& endpoint() const { return endpoint_; }
  // Whether the agent is on this machine and knows the caller's process (Unix socket).
  bool is_local() const { return !endpoint_.socket_path.empty(); }

  // Fails with kNotFound when no agent listens, kIo when it goes away, and kCorrupt when it
  // answers what is no JSON.
  Result<ApiAnswer> ask(const HttpQuestion& question) const;

  // The body of an answer to a GET; a failure that the API tells is the error.
  Result<boost::json::value> get(const std::string& target) const;

  // Text in pieces. An answer that is no success is the error.
  Result<HttpStream> open(const HttpQuestion& question) const;

 private:
  explicit AgentClient(HttpEndpoint endpoint) : endpoint_(std::move(endpoint)) {}

  HttpEndpoint endpoint_;
};

// "/api/v1/namespaces/NS/pods" and, with a name, "/NAME" after it; escaped.
std::string pods_target(std::string_view namespace_name, std::string_view name = "");

// A pod as people name it: NAME in the namespace of -n, or NAMESPACE/NAME.
struct PodName {
  std::string namespace_name{};
  std::string name{};
};

// Fails with kInvalid when both say a namespace and differ, and for an empty name.
Result<PodName> pod_name(std::string_view given, std::string_view namespace_option);

// "namespace/name".
std::string display_name(const PodName& pod);

}  // namespace corehold
