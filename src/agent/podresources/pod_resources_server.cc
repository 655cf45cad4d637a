// SPDX-License-Identifier: Apache-2.0
#include "agent/podresources/pod_resources_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <list>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sys/file/directory.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr mode_t kDirectoryMode = 0755;

class UnixPodResourcesServer final : public PodResourcesServer {
 public:
  UnixPodResourcesServer(asio::io_context& loop, PodResourcesOptions options)
      : loop_(loop), options_(std::move(options)), acceptor_(loop), pause_(loop), linger_(loop) {}
  UnixPodResourcesServer(const UnixPodResourcesServer&) = delete;
  UnixPodResourcesServer& operator=(const UnixPodResourcesServer&) = delete;
  ~UnixPodResourcesServer() override {
    try {
      close();
    } catch (const std::exception&) {
      // Out of memory: the kernel closes what is left.
    }
  }

  Result<void> open() {
    const std::string& path = options_.socket.path;
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      TRY(make_directories(path.substr(0, slash), kDirectoryMode));
    }
    auto listener = listen_on_unix(options_.socket);
    if (!listener) return listener.error();
    error_code error;
    static_cast<void>(acceptor_.assign(Unix(), listener->get(), error));
    if (error) return Error{Code::kIo, "listen on " + path + ": " + error.message()};
    listener->release();
    alive_ = std::make_shared<int>();
    accept();
    return {};
  }

  void close() override {
    if (!alive_) return;
    alive_.reset();
    error_code ignored;
    static_cast<void>(acceptor_.close(ignored));
    pause_.cancel();
    linger_.cancel();
    session_.reset();
    connections_.clear();
    ::unlink(options_.socket.path.c_str());
  }

  bool is_awake() const override { return session_ != nullptr; }

 private:
  using Connections = std::list<Unix::socket>;
  // Expired once the server has been closed: what the loop then still calls is to do nothing.
  using Alive = std::weak_ptr<int>;

  void accept() {
    acceptor_.async_accept(
        [this, alive = Alive(alive_)](const error_code& error, Unix::socket socket) {
          if (alive.expired()) return;
          if (error) return accept_later();
          take(std::move(socket));
          accept();
        });
  }

  // Out of descriptors, most likely: asking again at once would only burn the CPU.
  void accept_later() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this, alive = Alive(alive_)](const error_code&) {
      if (!alive.expired()) accept();
    });
  }

  void take(Unix::socket socket) {
    if (static_cast<int>(connections_.size()) >= options_.limits.connections) return;
    error_code error;
    static_cast<void>(socket.native_non_blocking(true, error));
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    // gRPC has a descriptor of its own and does not tell when it is done with it; ours
    // shows when the connection has ended.
    Descriptor theirs(::fcntl(socket.native_handle(), F_DUPFD_CLOEXEC, 0));
    if (error || !theirs.is_open()) return complain("take a connection: out of descriptors");
    if (!wake()) return;
    session_->take(std::move(theirs));
    connections_.push_back(std::move(socket));
    watch(std::prev(connections_.end()));
  }

  bool wake() {
    linger_.cancel();
    if (session_) return true;
    auto session = PodResourcesSession::start(loop_, options_.source, options_.limits);
    if (!session) {
      complain(session.error().message);
      return false;
    }
    session_ = *std::move(session);
    return true;
  }

  void watch(Connections::iterator connection) {
    connection->async_wait(Unix::socket::wait_error,
                           [this, alive = Alive(alive_), connection](const error_code&) {
                             if (alive.expired()) return;
                             connections_.erase(connection);
                             if (connections_.empty()) sleep_later();
                           });
  }

  void sleep_later() {
    linger_.expires_after(options_.limits.linger);
    linger_.async_wait([this, alive = Alive(alive_)](const error_code& error) {
      if (alive.expired() || error || !connections_.empty()) return;
      session_.reset();
    });
  }

  void complain(const std::string& trouble) const {
    if (options_.on_trouble) options_.on_trouble("podresources: " + trouble);
  }

  asio::io_context& loop_;
  PodResourcesOptions options_;
  Unix::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::steady_timer linger_;
  std::shared_ptr<int> alive_{};
  std::unique_ptr<PodResourcesSession> session_{};
  Connections connections_{};
};

}  // namespace

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::listen(
    asio::io_context& loop, PodResourcesOptions options) {
  auto server = std::make_unique<UnixPodResourcesServer>(loop, std::move(options));
  TRY(server->open());
  return std::unique_ptr<PodResourcesServer>(std::move(server));
}

}  // namespace corehold
