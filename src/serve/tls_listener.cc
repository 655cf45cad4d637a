// SPDX-License-Identifier: Apache-2.0
#include "serve/tls_listener.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/steady_timer.hpp>
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

class PatientServer final : public TlsServer {
 public:
  PatientServer(boost::asio::io_context& loop, const TlsListenerSettings& settings,
                Credentials credentials, TlsContext context, const Log& log)
      : loop_(loop),
        root_(settings.root),
        address_(settings.address),
        credentials_(std::move(credentials)),
        handler_(settings.handler),
        context_(std::make_shared<const TlsContext>(std::move(context))),
        log_(log),
        timer_(loop) {}

  // Fails for every reason but a port that is taken.
  Result<void> begin() {
    const auto listens = listen();
    if (listens) return {};
    const Error error = cannot_listen(address_, listens.error());
    if (error.code != Code::kConflict) return error;
    log_.warning("the API is not served over TLS yet, only over the Unix socket; trying again",
                 {{"why", error.message}});
    write_kubeconfig_for(address_);
    wait();
    return {};
  }

  std::string place() const override { return server_ == nullptr ? "" : server_->place(); }

  void close() override {
    is_closed_ = true;
    timer_.cancel();
    if (server_ != nullptr) server_->close();
  }

 private:
  Result<void> listen() {
    server_ = TRY(HttpServer::listen(
        loop_,
        {.address = address_,
         .tls = context_,
         .gate = [token = credentials_.token](
                     const HttpRequest& request) { return admission_over_tls(request, token); },
         .handler = handler_,
         .complaint = complaint_of}));
    write_kubeconfig_for(server_->place());
    log_.info("serving over TLS",
              {{"address", server_->place()}, {"kubeconfig", root_ + "/kubeconfig"}});
    return {};
  }

  void wait() {
    timer_.expires_after(pause_);
    pause_ = std::min(pause_ * 2, kLongestTlsPause);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || is_closed_) return;
      // A port that was taken may be refused for another reason by now: that may pass as well.
      if (const auto listens = listen(); !listens) wait();
    });
  }

  void write_kubeconfig_for(const std::string& place) const {
    const auto written = write_kubeconfig(root_, place, credentials_, log_);
    if (written) return;
    log_.warning("the kubeconfig is not written", {{"why", written.error().message}});
  }

  boost::asio::io_context& loop_;
  std::string root_;
  std::string address_;
  Credentials credentials_;
  std::function<void(HttpExchangePtr)> handler_;
  std::shared_ptr<const TlsContext> context_;  // shared with the connections
  const Log& log_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds pause_ = kFirstTlsPause;
  std::unique_ptr<HttpServer> server_{};
  bool is_closed_ = false;
};

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

Result<std::unique_ptr<TlsServer>> listen_with_tls(boost::asio::io_context& loop,
                                                   const TlsListenerSettings& settings,
                                                   const Log& log) {
  if (settings.address.empty()) {
    if (const auto removed = remove_kubeconfig(settings.root); !removed) {
      log.warning(removed.error().message);
    }
    return std::unique_ptr<TlsServer>();
  }
  Credentials credentials =
      TRY(prepare_credentials({.root = settings.root,
                               .node_name = settings.node_name,
                               .address = settings.address,
                               .now = std::chrono::duration_cast<std::chrono::seconds>(wall_now())},
                              log));
  auto context = TRY(TlsContext::for_server(credentials.server));
  auto server = std::make_unique<PatientServer>(loop, settings, std::move(credentials),
                                                std::move(context), log);
  TRY(server->begin());
  return std::unique_ptr<TlsServer>(std::move(server));
}

}  // namespace corehold
