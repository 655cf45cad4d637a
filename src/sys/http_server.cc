// SPDX-License-Identifier: Apache-2.0
#include "sys/http_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <exception>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "sys/file.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Unix = asio::local::stream_protocol;
using Stream = beast::basic_stream<Unix>;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};

Error failed(std::string_view call, const std::string& path, int number) {
  return {Code::kIo, fmt::format("{} {}: {}", call, path, errno_name(number))};
}

// Asio does not ask for it, and programs are started from this process.
void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

Peer peer_of(int fd) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return {};
  return {.pid = found.pid, .uid = found.uid, .gid = found.gid};
}

// What to answer to a request that cannot be read; 0: nothing, the peer has gone.
int status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error == beast::error::timeout) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

class Connection;

// What the connections need of the server; they may outlive it.
struct Shared {
  HttpServerOptions options{};
  std::set<Connection*> connections{};
  bool closed = false;
};

// One request and its answer. When the answer is out and the peer wants to go on, the
// socket moves to the next Connection.
class Connection final : public HttpExchange, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Stream stream, std::shared_ptr<Shared> server, beast::flat_buffer buffer)
      : stream_(std::move(stream)), server_(std::move(server)), buffer_(std::move(buffer)) {
    server_->connections.insert(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() override { server_->connections.erase(this); }

  void start() {
    request_.peer = peer_of(stream_.socket().native_handle());
    parser_.emplace();
    parser_->header_limit(limits().header_bytes);
    parser_->body_limit(limits().body_bytes);
    stream_.expires_after(limits().idle);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->have_header(error);
                            });
  }

  void refuse(int status, const std::string& message) {
    keep_alive_ = false;
    answer(server_->options.complaint(status, message));
  }

  // Drops the connection; nobody is told.
  void drop() {
    gone_ = nullptr;
    sent_ = nullptr;
    over_ = true;
    error_code ignored;
    stream_.socket().close(ignored);
  }

  const HttpRequest& request() const override { return request_; }

  void answer(HttpResponse response) override {
    if (over_ || begun_) return;
    begun_ = true;
    response_.version(version_);
    response_.result(static_cast<unsigned>(response.status));
    response_.set(http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) response_.insert(name, value);
    response_.keep_alive(keep_alive_);
    response_.body() = std::move(response.body);
    response_.prepare_payload();
    if (is_head_) response_.body().clear();
    complete_ = true;
    stream_.expires_after(limits().idle);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->written(error);
                      });
  }

  void begin(int status, const std::string& content_type) override {
    if (over_ || begun_) return;
    begun_ = true;
    keep_alive_ = false;
    watch();
    http::response<http::empty_body> head;
    head.version(version_);
    head.result(static_cast<unsigned>(status));
    head.set(http::field::content_type, content_type);
    head.keep_alive(false);
    if (is_chunked()) head.chunked(true);
    std::ostringstream text;
    text << head.base();
    send(text.str());
  }

  void write(std::string text) override {
    if (over_ || complete_ || !begun_ || text.empty() || is_head_) return;
    if (!is_chunked()) return send(std::move(text));
    send(beast::buffers_to_string(http::make_chunk(asio::buffer(text))));
  }

  void end() override {
    if (over_ || complete_ || !begun_) return;
    complete_ = true;
    if (is_chunked() && !is_head_) return send(beast::buffers_to_string(http::make_chunk_last()));
    if (waiting_.empty()) finish();
  }

  void on_gone(std::function<void()> callback) override {
    if (over_) return;
    gone_ = std::move(callback);
    keep_alive_ = false;
    watch();
  }

  void on_sent(std::function<void()> callback) override {
    if (!over_) sent_ = std::move(callback);
  }

 private:
  const HttpLimits& limits() const { return server_->options.limits; }
  bool is_chunked() const { return version_ >= 11; }

  void have_header(const error_code& error) {
    if (error) return unreadable(error);
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      continue_.version(11);
      continue_.result(http::status::continue_);
      http::async_write(stream_, continue_,
                        [self = shared_from_this()](const error_code& problem, std::size_t) {
                          if (problem) return self->lose();
                          self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
    stream_.expires_after(limits().idle);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       self->have_request(error);
                     });
  }

  void have_request(const error_code& error) {
    if (error) return unreadable(error);
    http::request<http::string_body> message = parser_->release();
    version_ = message.version();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    request_.method = std::string(message.method_string());
    request_.target = std::string(message.target());
    request_.content_type = std::string(message[http::field::content_type]);
    request_.accept = std::string(message[http::field::accept]);
    request_.authorization = std::string(message[http::field::authorization]);
    request_.user_agent = std::string(message[http::field::user_agent]);
    request_.if_none_match = std::string(message[http::field::if_none_match]);
    request_.body = std::move(message.body());
    stream_.expires_never();
    server_->options.handler(shared_from_this());
  }

  void unreadable(const error_code& error) {
    const int status = status_of(error);
    if (status == 0 || server_->closed) return lose();
    const std::string what =
        status == 413   ? fmt::format("the body is larger than {} bytes", limits().body_bytes)
        : status == 431 ? fmt::format("the header is larger than {} bytes", limits().header_bytes)
                        : fmt::format("not HTTP: {}", error.message());
    refuse(status, what);
  }

  // Notices when the peer hangs up while nothing is read from it.
  void watch() {
    if (watching_) return;
    watching_ = true;
    stream_.socket().async_wait(Unix::socket::wait_read,
                                [self = shared_from_this()](const error_code& error) {
                                  self->watching_ = false;
                                  self->look(error);
                                });
  }

  void look(const error_code& error) {
    if (over_) return;
    char byte = 0;
    const ssize_t got =
        error ? 0 : ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return lose();
    // A peer that talks out of turn is not listened to, nor watched any more.
    if (got < 0) watch();
  }

  void send(std::string text) {
    waiting_bytes_ += text.size();
    if (waiting_bytes_ > limits().stream_bytes) {
      // Later: whoever writes does not expect to be told in the middle of it.
      return asio::post(stream_.get_executor(), [self = shared_from_this()] { self->lose(); });
    }
    waiting_.push_back(std::move(text));
    if (waiting_.size() == 1) send_next();
  }

  void send_next() {
    // A reader may pause for as long as it likes: what waits for it is bounded.
    asio::async_write(
        stream_, asio::buffer(waiting_.front()),
        [self = shared_from_this()](const error_code& error, std::size_t) { self->sent(error); });
  }

  void sent(const error_code& error) {
    if (over_) return;
    if (error) return lose();
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
    if (!waiting_.empty()) return send_next();
    if (complete_) return finish();
    // A copy: it may end the stream, and so be forgotten, while it is called.
    if (const std::function<void()> tell = sent_) tell();
  }

  void written(const error_code& error) {
    if (over_) return;
    if (error) return lose();
    if (!keep_alive_ || watching_ || server_->closed) return finish();
    over_ = true;
    gone_ = nullptr;
    std::make_shared<Connection>(std::move(stream_), server_, std::move(buffer_))->start();
  }

  // The answer is out.
  void finish() {
    gone_ = nullptr;
    sent_ = nullptr;
    over_ = true;
    error_code ignored;
    stream_.socket().shutdown(Unix::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

  // The peer has gone, or is let go.
  void lose() {
    if (over_) return;
    const std::function<void()> tell = std::exchange(gone_, nullptr);
    const bool incomplete = !complete_;
    drop();
    if (tell && incomplete) tell();
  }

  Stream stream_;
  std::shared_ptr<Shared> server_;  // shared: connections may outlive the server
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_{};
  http::response<http::empty_body> continue_{};
  http::response<http::string_body> response_{};
  HttpRequest request_{};
  std::function<void()> gone_{};
  std::function<void()> sent_{};
  std::deque<std::string> waiting_{};  // pieces to be sent; the first is on its way
  std::size_t waiting_bytes_ = 0;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool begun_ = false;     // the answer has
  bool complete_ = false;  // nothing more will be added to the answer
  bool watching_ = false;
  bool over_ = false;  // the socket is closed or somebody else's
};

class UnixHttpServer final : public HttpServer {
 public:
  UnixHttpServer(asio::io_context& loop, HttpServerOptions options)
      : acceptor_(loop), pause_(loop), shared_(std::make_shared<Shared>()) {
    shared_->options = std::move(options);
  }
  UnixHttpServer(const UnixHttpServer&) = delete;
  UnixHttpServer& operator=(const UnixHttpServer&) = delete;
  ~UnixHttpServer() override {
    try {
      close();
    } catch (const std::exception&) {
      // Out of memory: the kernel closes what is left.
    }
  }

  Result<void> open() {
    const std::string& path = shared_->options.path;
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return Error{Code::kInvalid,
                   fmt::format("listen on {}: the path has {} bytes, a socket's at most {}; choose "
                               "a shorter root directory",
                               path, path.size(), sizeof(sockaddr_un::sun_path) - 1)};
    }
    TRY(remove_old(path));
    error_code error;
    acceptor_.open(Unix(), error);
    if (error) return failed("open", path, error.value());
    close_on_exec(acceptor_.native_handle());
    // Nobody may connect before mode and group are as they should be.
    const mode_t before = ::umask(0777);
    acceptor_.bind(Unix::endpoint(path), error);
    ::umask(before);
    if (error) return failed("bind", path, error.value());
    bound_ = true;
    if (::chown(path.c_str(), uid_t(-1), shared_->options.group) != 0) {
      return failed("chown", path, errno);
    }
    if (::chmod(path.c_str(), shared_->options.mode) != 0) return failed("chmod", path, errno);
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return failed("listen", path, error.value());
    accept();
    return {};
  }

  void close() override {
    if (shared_->closed) return;
    shared_->closed = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    const std::set<Connection*> connections = shared_->connections;
    for (Connection* connection : connections) connection->drop();
    if (bound_) ::unlink(shared_->options.path.c_str());
  }

 private:
  static Result<void> remove_old(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) return {};
      return failed("stat", path, errno);
    }
    if (!S_ISSOCK(status.st_mode)) {
      return Error{Code::kIo, fmt::format("listen on {}: something else is there", path)};
    }
    if (::unlink(path.c_str()) != 0) return failed("unlink", path, errno);
    return {};
  }

  void accept() {
    acceptor_.async_accept([this, shared = shared_](const error_code& error, Unix::socket socket) {
      if (shared->closed) return;
      if (error) return accept_later();
      take(std::move(socket));
      accept();
    });
  }

  // Out of descriptors, most likely: asking again at once would only burn the CPU.
  void accept_later() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this, shared = shared_](const error_code&) {
      if (!shared->closed) accept();
    });
  }

  void take(Unix::socket socket) {
    close_on_exec(socket.native_handle());
    const auto open = static_cast<int>(shared_->connections.size());
    const auto connection =
        std::make_shared<Connection>(Stream(std::move(socket)), shared_, beast::flat_buffer());
    if (open >= shared_->options.limits.connections) {
      connection->refuse(503, fmt::format("{} connections are open, the most there may be", open));
    } else {
      connection->start();
    }
  }

  Unix::acceptor acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<Shared> shared_;
  bool bound_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(asio::io_context& loop,
                                                       HttpServerOptions options) {
  auto server = std::make_unique<UnixHttpServer>(loop, std::move(options));
  TRY(server->open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace corehold
