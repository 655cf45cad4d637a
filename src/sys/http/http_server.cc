// SPDX-License-Identifier: Apache-2.0
#include "sys/http/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"
#include "sys/http/http_connection.h"
#include "sys/socket/socket_address.h"
#include "sys/socket/unix_listener.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using Stream = asio::generic::stream_protocol;  // of whatever family
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kAcceptedTogether = 64;
constexpr std::size_t kOtherFiles = 256;
constexpr std::size_t kFewestConnections = 16;

Error server_failed(std::string_view call, const std::string& path, int number) {
  return errno_error(fmt::format("{} {}", call, path), number);
}

// Asio does not ask for it, and programs are started from this process.
void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

// A peer whose machine has gone must not be kept for ever; pieces of streams go out at once.
void set_up_tcp(int fd) {
  const auto set = [fd](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

class Listener final : public HttpServer {
 public:
  Listener(asio::io_context& loop, HttpServerOptions options)
      : acceptor_(loop), pause_(loop), shared_(std::make_shared<HttpShared>()) {
    shared_->options = std::move(options);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() override {
    try {
      close();
    } catch (const std::exception&) {
      // Out of memory: the kernel closes what is left.
    }
  }

  Result<void> open() {
    if (shared_->options.path.empty()) {
      TRY(open_tcp());
    } else {
      TRY(open_unix());
    }
    accept();
    return {};
  }

  const std::string& place() const override { return place_; }

  void close() override {
    if (shared_->closed) return;
    shared_->closed = true;
    error_code ignored;
    static_cast<void>(acceptor_.close(ignored));
    pause_.cancel();
    const auto connections = shared_->connections;
    for (const auto& connection : connections) connection->drop();
    if (bound_) ::unlink(shared_->options.path.c_str());
  }

 private:
  Result<void> open_unix() {
    const HttpServerOptions& options = shared_->options;
    place_ = options.path;
    Descriptor socket =
        TRY(listen_on_unix({.path = options.path, .mode = options.mode, .group = options.group}));
    bound_ = true;
    error_code error;
    static_cast<void>(acceptor_.assign(Stream(AF_UNIX, 0), socket.get(), error));
    if (error) return server_failed("listen on", place_, error.value());
    static_cast<void>(socket.release());  // the acceptor's now
    return {};
  }

  Result<void> open_tcp() {
    place_ = shared_->options.address;
    const SocketAddress address = TRY(parse_socket_address(place_));
    error_code error;
    const asio::ip::address host = asio::ip::make_address(address.host, error);
    if (error) {
      return Error{Code::kInvalid, fmt::format("{:?} is no IP address", address.host)};
    }
    const tcp::endpoint endpoint(host, address.port);
    static_cast<void>(acceptor_.open(Stream(endpoint.protocol()), error));
    if (error) return server_failed("open", place_, error.value());
    close_on_exec(acceptor_.native_handle());
    static_cast<void>(acceptor_.set_option(asio::socket_base::reuse_address(true), error));
    static_cast<void>(acceptor_.bind(Stream::endpoint(endpoint), error));
    if (!error) {
      static_cast<void>(acceptor_.listen(asio::socket_base::max_listen_connections, error));
    }
    if (error == asio::error::address_in_use) {
      return Error{Code::kConflict,
                   fmt::format("listen on {}: something else listens there", place_)};
    }
    if (error) return server_failed("listen on", place_, error.value());
    place_ = to_text({.host = address.host, .port = bound_port(error)});
    if (error) return server_failed("getsockname", place_, error.value());
    return {};
  }

  std::uint16_t bound_port(error_code& error) {
    const Stream::endpoint bound = acceptor_.local_endpoint(error);
    tcp::endpoint found;
    if (error || bound.size() > found.capacity()) return 0;
    std::memcpy(found.data(), bound.data(), bound.size());
    return found.port();
  }

  void accept() {
    acceptor_.async_accept(
        [this, shared = shared_](const error_code& error, HttpConnection::Socket socket) {
          if (shared->closed) return;
          if (error) return try_again();
          take(std::move(socket));
          take_more();
          accept();
        });
  }

  // Others that have come. The loop accepts once in each round and serves all connections in
  // between: the last of many clients would wait for as many rounds.
  void take_more() {
    error_code error;
    static_cast<void>(acceptor_.non_blocking(true, error));
    for (int more = 0; more < kAcceptedTogether && !error; ++more) {
      auto socket = acceptor_.accept(error);
      if (!error) take(std::move(socket));
    }
  }

  // Out of descriptors, most likely.
  void try_again() {
    if (make_room()) return accept();
    // Asking again at once would only burn the CPU.
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this, shared = shared_](const error_code&) {
      if (!shared->closed) accept();
    });
  }

  // Lets go of the oldest connection that is not authenticated, else of a quiet one.
  bool make_room() {
    for (const auto& step : shared_->unauthenticated) {
      if (step.empty()) continue;
      step.front()->drop();
      return true;
    }
    return shared_->drop_quiet();
  }

  void take(HttpConnection::Socket socket) {
    close_on_exec(socket.native_handle());
    const bool is_tls = shared_->options.tls != nullptr;
    if (is_tls) set_up_tcp(socket.native_handle());
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), shared_);
    if (is_tls) return connection->start();  // whether there is room turns out when it asks
    const std::size_t most = shared_->most().authenticated;
    if (shared_->connections.size() >= most) shared_->drop_quiet();
    const std::size_t open = shared_->connections.size();
    if (open < most) return connection->start();
    connection->turn_away(503, fmt::format("{} connections are open, the most there may be", open));
  }

  asio::basic_socket_acceptor<Stream> acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<HttpShared> shared_;  // shared: connections may outlive the server
  std::string place_{};
  bool bound_ = false;  // the path is ours
};

}  // namespace

// As many as asked for, but most of the files that this process may open are left for other
// uses: a node that cannot open any more can do nothing at all.
HttpShared::Most HttpShared::most() const {
  auto all = static_cast<std::size_t>(options.limits.connections);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    const std::size_t spare = files.rlim_cur > kOtherFiles ? files.rlim_cur - kOtherFiles : 0;
    all = std::min(all, std::max(kFewestConnections, spare / 3));
  }
  if (!options.tls) return {.authenticated = all};
  const std::size_t each_step =
      std::clamp<std::size_t>(all / 8, 1, static_cast<std::size_t>(options.limits.unauthenticated));
  const std::size_t others = kHttpSteps * each_step;
  return {.authenticated = all > others ? all - others : 1, .each_step = each_step};
}

std::size_t HttpShared::authenticated() const {
  std::size_t others = 0;
  for (const auto& step : unauthenticated) others += step.size();
  return connections.size() - others;
}

bool HttpShared::drop_quiet() {
  if (quiet.empty()) return false;
  quiet.front()->drop();
  return true;
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(asio::io_context& loop,
                                                       HttpServerOptions options) {
  auto server = std::make_unique<Listener>(loop, std::move(options));
  TRY(server->open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace corehold
