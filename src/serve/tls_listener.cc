// SPDX-License-Identifier: Apache-2.0
#include "serve/tls_listener.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/beast/core/string.hpp>
#include <fmt/format.h>

#include "serve/answer.h"
#include "serve/credentials.h"
#include "serve/http_target.h"
#include "sys/clock.h"
#include "sys/socket/tls.h"

namespace corehold {
namespace {

constexpr std::array<std::string_view, 3> kOpenToAll{"healthz", "livez", "readyz"};
constexpr std::string_view kScheme = "Bearer ";

bool has_token(const HttpRequest& request, const std::string& token) {
  const std::string& given = request.authorization;
  return given.size() > kScheme.size() &&
         boost::beast::iequals(std::string_view(given).substr(0, kScheme.size()), kScheme) &&
         equal_in_constant_time(given.substr(kScheme.size()), token);
}

Error cannot_listen(const std::string& address, const Error& error) {
  return wrap("listen.address",
              {error.code, fmt::format("{}; stop what is there, or say another address in "
                                       "`listen: {{address: ...}}` of the CoreholdConfiguration in "
                                       "the --config file (\"\": none, the Unix socket only)",
                                       error.code == Code::kConflict
                                           ? fmt::format("{} is taken by another program", address)
                                           : error.message)});
}

}  // namespace

HttpAdmission admission_over_tls(const HttpRequest& request, const std::string& token) {
  const auto target = HttpTarget::parse(request.target);
  const std::vector<std::string> path = target ? target->path : std::vector<std::string>();
  if (!has_token(request, token)) {
    if (!path.empty() && std::count(kOpenToAll.begin(), kOpenToAll.end(), path[0]) > 0) {
      return {.is_authenticated = false};
    }
    HttpResponse response =
        response_of({.reason = StatusReason::kUnauthorized, .message = "Unauthorized"});
    response.headers.emplace_back("Cache-Control", "no-cache, private");
    return {.refusal = std::move(response), .is_authenticated = false};
  }
  if (path == std::vector<std::string>{"apis", "corehold.dev", "v1alpha1", "run"}) {
    return {
        .refusal = response_of(
            {.reason = StatusReason::kForbidden,
             .message = "corehold run works over the agent's Unix socket only: the command is a "
                        "process of the caller on the node itself, and only there the kernel "
                        "says whose; run it on the node without --server"})};
  }
  return {};
}

Result<std::unique_ptr<HttpServer>> listen_with_tls(boost::asio::io_context& loop,
                                                    const TlsListenerSettings& settings,
                                                    const Log& log) {
  if (settings.address.empty()) {
    if (const auto removed = remove_kubeconfig(settings.root); !removed) {
      log.warning(removed.error().message);
    }
    return std::unique_ptr<HttpServer>();
  }
  const Credentials credentials =
      TRY(prepare_credentials({.root = settings.root,
                               .node_name = settings.node_name,
                               .address = settings.address,
                               .now = std::chrono::duration_cast<std::chrono::seconds>(wall_now())},
                              log));
  auto context = TRY(TlsContext::for_server(credentials.server));
  auto server = HttpServer::listen(
      loop, {.address = settings.address,
             .tls = std::make_shared<const TlsContext>(std::move(context)),
             .gate = [token = credentials.token](
                         const HttpRequest& request) { return admission_over_tls(request, token); },
             .handler = settings.handler,
             .complaint = complaint_of});
  if (!server) return cannot_listen(settings.address, server.error());
  const std::string& place = (*server)->place();
  if (const auto written = write_kubeconfig(settings.root, place, credentials, log); !written) {
    log.warning("the kubeconfig is not written", {{"why", written.error().message}});
  }
  log.info("serving over TLS", {{"address", place}, {"kubeconfig", settings.root + "/kubeconfig"}});
  return server;
}

}  // namespace corehold
