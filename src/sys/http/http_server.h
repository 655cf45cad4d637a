// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 on the loop of its owner, over a Unix socket or over TCP with TLS: requests in,
// answers out, whole or as a stream. What peers send cannot throw, grow without bound or
// keep a connection for ever, and connections that ask nothing never stand in the way of
// new ones. Over TLS a peer that is not authenticated has no body read and shares no limit
// with those that are. Boost.Beast reads the messages.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"

namespace corehold {

class TlsContext;

struct HttpLimits {
  std::uint32_t header_bytes = 16U << 10U;
  std::uint64_t body_bytes = std::uint64_t{3} << 20U;
  std::uint64_t all_bodies_bytes = std::uint64_t{64} << 20U;  // of requests that come in
  std::size_t stream_bytes = std::size_t{4} << 20U;           // not yet taken by the peer
  int connections = 4096;  // fewer if this process may not open three times as many files
  // Of `connections`, over TLS: at most so many (and an eighth) for peers that have not been
  // authenticated, in each of the steps before that: silent, handshake, request. One more in a
  // step takes the place of the oldest connection of that step, and never of an authenticated one.
  int unauthenticated = 256;
  // Deadlines for the whole of each, however slowly it comes; not for answers in pieces.
  std::chrono::seconds header{10};  // and for a handshake
  std::chrono::seconds idle{60};    // between requests; also for a body or a whole answer, and
                                    // more for the time that its bytes need at this rate. For a
                                    // peer that is not authenticated `header` is in its place.
  std::uint64_t least_bytes_per_second = std::uint64_t{64} << 10U;
};

// The process at the other end of a Unix socket, as the kernel says (SO_PEERCRED).
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
  bool has_body = false;  // known before the body is there
  Peer peer{};
  bool over_tls = false;  // so from anywhere, and there is no `peer`
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  HttpHeaders headers{};  // beside those that follow from the above
};

// What the gate says of a request when its header is there.
struct HttpAdmission {
  // Answered in place of the handler's answer; the body is not read.
  std::optional<HttpResponse> refusal{};
  // A request that is let in without authentication must not have a body: it is refused with
  // 401 if it has. The connection keeps the limits of `HttpLimits::unauthenticated`.
  bool is_authenticated = true;
};

// One request waiting for its answer. Call answer() once, or begin(), write() any number
// of times and end(). Everything is ignored once the peer has gone. When the last pointer
// goes before the answer is complete, so does the connection.
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

// Shared with the code that will have the answer.
using HttpExchangePtr = std::shared_ptr<HttpExchange>;

struct HttpServerOptions {
  std::string path{};                       // of the Unix socket; "": TCP with TLS
  mode_t mode = 0600;                       // of the socket
  gid_t group = gid_t(-1);                  // of the socket; -1: the process's own
  std::string address{};                    // for TCP: "127.0.0.1:10270"; port 0: one that is free
  std::shared_ptr<const TlsContext> tls{};  // for TCP; shared with the connections
  HttpLimits limits{};
  // Asked as soon as the header is there. May be empty: all requests are authenticated then.
  std::function<HttpAdmission(const HttpRequest&)> gate{};
  std::function<void(HttpExchangePtr)> handler{};
  // What is sent for a request that cannot be read: a response for a status and a message.
  std::function<HttpResponse(int, const std::string&)> complaint{};
};

class HttpServer {
 public:
  // Listens. What is at the path is replaced if it is a socket: nobody else may be
  // serving there. Fails with kIo, with kConflict when the TCP port is taken, and kInvalid for
  // a path too long for a socket or an address that is none.
  // `loop` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> listen(boost::asio::io_context& loop,
                                                    HttpServerOptions options);
  virtual ~HttpServer() = default;

  // Where it listens: the path, or the address with the port that it got.
  virtual const std::string& place() const = 0;

  // Takes no more connections, drops those there are and removes the socket.
  virtual void close() = 0;
};

}  // namespace corehold
