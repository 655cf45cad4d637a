// SPDX-License-Identifier: Apache-2.0
//
// The API over TCP: TLS with credentials of the agent's own, a bearer token for everything
// but health, and nothing that needs to know the caller's process.
#pragma once

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

// Listens, and writes the kubeconfig for it; without an address there is no server, and no
// kubeconfig is left. Fails when the credentials cannot be made or the address not be used,
// with a message that says what to do. A kubeconfig that cannot be written is only logged.
Result<std::unique_ptr<HttpServer>> listen_with_tls(boost::asio::io_context& loop,
                                                    const TlsListenerSettings& settings,
                                                    const Log& log);

// Whether a request over TLS has the token, and what is answered to it instead of what it asks
// for. Health may be asked for without the token, but not with a body (HttpAdmission).
HttpAdmission admission_over_tls(const HttpRequest& request, const std::string& token);

}  // namespace corehold
