// SPDX-License-Identifier: Apache-2.0
//
// What a connection is asked: bytes become requests, and those that can be read are handed
// on, each in an exchange of its own.
#include <sys/socket.h>

#include <string_view>
#include <utility>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>
#include <fmt/format.h>

#include "sys/http/http_connection.h"
#include "sys/http/http_parse.h"

namespace corehold {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

Peer peer_of(int fd) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return {};
  return {.pid = found.pid, .uid = found.uid, .gid = found.gid};
}

// What to answer to a request that cannot be read.
int http_status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  return 400;
}

// One request. It lets the connection go with its answer.
class Exchange final : public HttpExchange {
 public:
  Exchange(std::weak_ptr<HttpConnection> connection, HttpRequest request)
      : connection_(std::move(connection)), request_(std::move(request)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override {
    if (const auto connection = connection_.lock()) connection->drop();
  }

  const HttpRequest& request() const override { return request_; }

  void answer(HttpResponse response) override {
    if (begun_) return;
    if (const auto connection = let_go()) connection->answer(std::move(response));
  }
  void begin(int status, const std::string& content_type) override {
    if (std::exchange(begun_, true)) return;
    if (const auto connection = connection_.lock()) connection->begin(status, content_type);
  }
  void write(std::string text) override {
    if (!begun_) return;
    if (const auto connection = connection_.lock()) connection->write(std::move(text));
  }
  void end() override {
    if (!begun_) return;
    if (const auto connection = let_go()) connection->end();
  }
  void on_sent(std::function<void()> callback) override {
    if (const auto connection = connection_.lock()) connection->on_sent(std::move(callback));
  }
  void on_gone(std::function<void()> callback) override {
    if (const auto connection = connection_.lock()) connection->on_gone(std::move(callback));
  }

 private:
  std::shared_ptr<HttpConnection> let_go() {
    auto connection = connection_.lock();
    connection_.reset();
    return connection;
  }

  std::weak_ptr<HttpConnection> connection_;
  HttpRequest request_;
  bool begun_ = false;
};

}  // namespace

void HttpConnection::take(std::string_view text) {
  if (stage_ == Stage::kIdle) {
    enter(Stage::kHeader);
    expire_in(limits().header);
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(limits().header_bytes);
    parser_->body_limit(boost::none);  // until it is known who asks
  }
  if (ahead_.empty()) {
    ahead_ = text.substr(parse(text));
  } else {
    ahead_ += text;
    ahead_.erase(0, parse(ahead_));
  }
  if (!is_reading()) return;
  if (parser_->is_done()) return have_request();
  // Of a body nothing is left unused but what has no end yet: the head of a chunk, or a trailer.
  if (ahead_.size() > limits().header_bytes) return unreadable(http::error::header_limit);
  go_on_reading();
}

// Reads on until the request is there or there is no more to read; how much was of use.
std::size_t HttpConnection::parse(std::string_view text) {
  std::size_t used = 0;
  while (used < text.size() && is_reading() && !parser_->is_done()) {
    error_code error;
    const std::size_t taken = parse_some(*parser_, text.substr(used), error);
    used += taken;
    if (error == http::error::need_more) break;
    if (error) {
      unreadable(error);
      break;
    }
    if (stage_ == Stage::kHeader && parser_->is_header_done()) have_header();
    if (stage_ == Stage::kBody) count_body();
    if (taken == 0) break;
  }
  return used;
}

void HttpConnection::have_header() {
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = message.keep_alive();
  is_head_ = message.method() == http::verb::head;
  const bool over_tls = server_->options.tls != nullptr;
  coming_ = std::make_unique<HttpRequest>(
      HttpRequest{.method = std::string(message.method_string()),
                  .target = std::string(message.target()),
                  .content_type = std::string(message[http::field::content_type]),
                  .accept = std::string(message[http::field::accept]),
                  .authorization = std::string(message[http::field::authorization]),
                  .user_agent = std::string(message[http::field::user_agent]),
                  .if_none_match = std::string(message[http::field::if_none_match]),
                  .has_body = !parser_->is_done(),
                  .peer = over_tls ? Peer{} : peer_of(socket_.native_handle()),
                  .over_tls = over_tls});
  HttpAdmission admission;
  if (server_->options.gate) admission = server_->options.gate(*coming_);
  if (!admission.is_authenticated && !admission.refusal && coming_->has_body) {
    return complain(401, "a request without credentials must not have a body");
  }
  if (admission.is_authenticated && !authenticate()) {
    return complain(503, fmt::format("{} connections are open, the most there may be",
                                     server_->authenticated()));
  }
  if (admission.refusal) return refuse(*std::move(admission.refusal));
  // Where its end is not known, the body would be taken for the next request.
  const std::string_view encoding = message[http::field::transfer_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "chunked")) {
    return complain(400, fmt::format("transfer encoding {} is not known", encoding));
  }
  const auto length = parser_->content_length();
  if (length && *length > limits().body_bytes) return unreadable(http::error::body_limit);
  parser_->body_limit(limits().body_bytes);
  if (parser_->is_done()) return;
  enter(Stage::kBody);
  expire_after_bytes(length ? *length : limits().body_bytes);
  if (beast::iequals(message[http::field::expect], "100-continue")) {
    send("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

// All bodies together must not take too much memory either.
void HttpConnection::count_body() {
  const std::uint64_t size = parser_->get().body().size();
  server_->body_bytes += size - counted_body_;
  counted_body_ = size;
  if (server_->body_bytes <= limits().all_bodies_bytes) return;
  complain(503, fmt::format("more than {} bytes of requests are coming in at once; try again later",
                            limits().all_bodies_bytes));
}

void HttpConnection::have_request() {
  coming_->body = std::move(parser_->get().body());
  server_->body_bytes -= std::exchange(counted_body_, 0);
  parser_.reset();
  enter(Stage::kBusy);
  deadline_ = std::chrono::steady_clock::time_point::max();
  const std::unique_ptr<HttpRequest> request = std::move(coming_);
  server_->options.handler(std::make_shared<Exchange>(weak_from_this(), std::move(*request)));
}

void HttpConnection::unreadable(const error_code& error) {
  const int status = http_status_of(error);
  complain(status, status == 413
                       ? fmt::format("the body is larger than {} bytes", limits().body_bytes)
                   : status == 431
                       ? fmt::format("the header is larger than {} bytes", limits().header_bytes)
                       : fmt::format("not HTTP: {}", error.message()));
}

void HttpConnection::complain(int status, const std::string& message) {
  keep_alive_ = false;
  is_unread_ = true;
  refuse(server_->options.complaint(status, message));
}

// Answers without an exchange.
void HttpConnection::refuse(HttpResponse response) {
  if (parser_ && !parser_->is_done()) {
    keep_alive_ = false;
    is_unread_ = true;
  }
  server_->body_bytes -= std::exchange(counted_body_, 0);
  enter(Stage::kBusy);
  coming_.reset();
  respond(std::move(response));
}

}  // namespace corehold
