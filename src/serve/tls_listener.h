// SPDX-License-Identifier: Apache-2.0
//
// The API over TCP: TLS with credentials of the agent's own, a bearer token for everything
// but health, and nothing that needs to know the caller's process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sys/http/http_server.h"
#include "sys/log/log.h"

namespace corehold {

struct TlsListenerSettings {
  std::string root{};
  std::string node_name{};
  std::string address{};  // "": nowhere
  std::function<void(HttpExchangePtr)> handler{};
};

// The server, or the wait for its port. Every user of the machine can take a port: one that is
// taken must not keep the agent from its containers and from its Unix socket.
class TlsServer {
 public:
  virtual ~TlsServer() = default;

  // Where it listens, with the port that it got; "": it does not, the port is taken.
  virtual std::string place() const = 0;

  // Takes no more connections, drops those there are, and does not try to listen any more.
  virtual void close() = 0;
};

// Listens, and writes the kubeconfig for it; without an address there is no server (null), and no
// kubeconfig is left. While the port is taken, which is logged once with what to do, the server
// tries again, after kFirstTlsPause and then less and less often; the kubeconfig is there already.
// Clients with that kubeconfig tell nothing to whoever has the port: it has not the certificate.
//
// Fails when the credentials cannot be made or the address not be used for another reason, with a
// message that says what to do. A kubeconfig that cannot be written is only logged. `loop` and
// `log` must outlive the server.
Result<std::unique_ptr<TlsServer>> listen_with_tls(boost::asio::io_context& loop,
                                                   const TlsListenerSettings& settings,
                                                   const Log& log);
inline constexpr std::chrono::milliseconds kFirstTlsPause{250};
inline constexpr std::chrono::milliseconds kLongestTlsPause{30'000};

// Whether a request over TLS has the token, and what is answered to it instead of what it asks
// for. Health may be asked for without the token, but not with a body (HttpAdmission).
HttpAdmission admission_over_tls(const HttpRequest& request, const std::string& token);

}  // namespace corehold
