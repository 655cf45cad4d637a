// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 over a Unix socket, on the loop of its owner: requests in, answers out, whole
// or as a stream. The adapter for Boost.Beast: what peers send cannot throw, grow without
// bound or keep a connection for ever.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"

namespace corehold {

struct HttpLimits {
  std::uint32_t header_bytes = 16U << 10U;
  std::uint64_t body_bytes = std::uint64_t{8} << 20U;
  std::size_t stream_bytes = std::size_t{4} << 20U;  // not yet taken by the peer
  int connections = 512;
  std::chrono::seconds idle{60};  // for a request to come in whole, or an answer to go out
};

// Who is at the other end, as the kernel says (SO_PEERCRED).
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct HttpRequest {
  std::string method{};  // "GET"
  std::string target{};  // "/api/v1/pods?limit=1", as sent
  // Headers; "" for those that were not sent.
  std::string content_type{};
  std::string accept{};
  std::string authorization{};
  std::string user_agent{};
  std::string if_none_match{};
  std::string body{};
  Peer peer{};
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  HttpHeaders headers{};  // beside those that follow from the above
};

// One request waiting for its answer. Call answer() once, or begin(), write() any number
// of times and end(). Everything is ignored once the peer has gone.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;

  virtual void answer(HttpResponse response) = 0;

  // An answer in pieces; each is sent as it comes. A peer that does not take them is
  // dropped when too much waits.
  virtual void begin(int status, const std::string& content_type) = 0;
  virtual void write(std::string text) = 0;
  virtual void end() = 0;

  // Called from the loop each time all of a stream that was written so far has been taken
  // by the peer, its beginning included: time for the next piece. Not for HEAD requests,
  // whose answer has none.
  virtual void on_sent(std::function<void()> callback) = 0;

  // Called once, from the loop, if the peer goes before the answer is complete. Until
  // answer() or begin() nothing watches for that unless this has been called.
  virtual void on_gone(std::function<void()> callback) = 0;
};

// Shared: by the connection, which writes the answer, and by whoever will know it.
using HttpExchangePtr = std::shared_ptr<HttpExchange>;

struct HttpServerOptions {
  std::string path{};       // of the socket
  mode_t mode = 0600;       // of the socket
  gid_t group = gid_t(-1);  // of the socket; -1: the process's own
  HttpLimits limits{};
  std::function<void(HttpExchangePtr)> handler{};
  // What is sent for a request that cannot be read: a response for a status and a message.
  std::function<HttpResponse(int, const std::string&)> complaint{};
};

class HttpServer {
 public:
  // Listens. What is at the path is replaced if it is a socket: nobody else may be
  // serving there. Fails with kIo, and kInvalid for a path too long for a socket.
  // `loop` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> listen(boost::asio::io_context& loop,
                                                    HttpServerOptions options);
  virtual ~HttpServer() = default;

  // Takes no more connections, drops those there are and removes the socket.
  virtual void close() = 0;
};

}  // namespace corehold
