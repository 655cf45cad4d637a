// SPDX-License-Identifier: Apache-2.0
#include "sys/http_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "sys/file.h"

namespace corehold {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

struct HttpStream::Connection {
  explicit Connection(std::string socket_path) : path(std::move(socket_path)) {
    parser.body_limit(boost::none);
  }

  std::string path;
  asio::io_context loop{1};
  asio::local::stream_protocol::socket socket{loop};
  beast::flat_buffer buffer{};
  http::response_parser<http::buffer_body> parser{};
};

namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 20U;

Error gone(const std::string& path, const ErrorCode& ec) {
  return {Code::kIo, fmt::format("the agent on {} has gone away: {}", path, ec.message())};
}

Error no_answer(const std::string& path) {
  return {Code::kIo, fmt::format("the agent at {} does not answer", path)};
}

Error cannot_connect(const std::string& path, int number) {
  if (number == ENOENT || number == ECONNREFUSED) {
    return {Code::kNotFound,
            fmt::format("no agent is listening on {}; start one with corehold agent", path)};
  }
  if (number == EACCES || number == EPERM) {
    return {Code::kIo,
            fmt::format("this user may not use {} (EACCES): run this as root, or let a group of "
                        "this user use it with `listen: {{socketGroup: GROUP}}` in the "
                        "CoreholdConfiguration of the agent's --config file",
                        path)};
  }
  if (number == EAGAIN) return no_answer(path);
  return {Code::kIo, fmt::format("connect to {}: {}", path, errno_name(number))};
}

Result<void> connect(asio::local::stream_protocol::socket& socket, const std::string& path,
                     std::chrono::milliseconds patience) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{Code::kInvalid,
                 fmt::format("{} is too long for a socket: {} bytes, {} are the most", path,
                             path.size(), sizeof(sockaddr_un::sun_path) - 1)};
  }
  ErrorCode ec;
  static_cast<void>(socket.open(asio::local::stream_protocol(), ec));
  if (ec) return cannot_connect(path, ec.value());
  // By hand: a queue that is full makes this wait, and Asio would wait for ever.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(patience - seconds);
  const timeval bound{.tv_sec = seconds.count(), .tv_usec = rest.count()};
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  const asio::local::stream_protocol::endpoint address(path);
  const auto size = static_cast<socklen_t>(address.size());
  while (::connect(socket.native_handle(), address.data(), size) != 0) {
    if (errno != EINTR) return cannot_connect(path, errno);
  }
  return {};
}

// Runs one operation on the socket; no value: it was not done in time and is given up.
template <typename Begin>
std::optional<ErrorCode> within(asio::io_context& loop,
                                asio::local::stream_protocol::socket& socket,
                                asio::steady_timer::time_point until, Begin begin) {
  std::optional<ErrorCode> outcome;
  begin([&outcome](const ErrorCode& ec, std::size_t) { outcome = ec; });
  loop.restart();
  loop.run_until(until);
  if (outcome) return outcome;
  ErrorCode ignored;
  static_cast<void>(socket.cancel(ignored));
  loop.restart();
  loop.run();
  return std::nullopt;
}

template <typename Call>
ErrorCode uninterrupted(Call call) {
  ErrorCode ec;
  do {
    ec.clear();
    call(ec);
  } while (ec == asio::error::interrupted);
  return ec;
}

}  // namespace

HttpStream::HttpStream() = default;
HttpStream::HttpStream(HttpStream&&) noexcept = default;
HttpStream& HttpStream::operator=(HttpStream&&) noexcept = default;
HttpStream::~HttpStream() = default;

int HttpStream::status() const { return static_cast<int>(connection_->parser.get().result_int()); }

int HttpStream::descriptor() const { return connection_->socket.native_handle(); }

Result<std::string> HttpStream::next() {
  Connection& own = *connection_;
  std::array<char, 16384> piece{};
  while (!own.parser.is_done()) {
    auto& body = own.parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    const ErrorCode ec = uninterrupted(
        [&](ErrorCode& error) { http::read_some(own.socket, own.buffer, own.parser, error); });
    if (ec && ec != http::error::need_buffer && ec != http::error::end_of_stream) {
      return gone(own.path, ec);
    }
    const std::size_t got = piece.size() - body.size;
    if (got > 0) return std::string(piece.data(), got);
    if (ec == http::error::end_of_stream) break;
  }
  return std::string();
}

Result<std::optional<std::string>> HttpStream::next_line() {
  for (;;) {
    const std::size_t end = line_.find('\n');
    if (end != std::string::npos) {
      std::string line = line_.substr(0, end);
      line_.erase(0, end + 1);
      return std::optional(std::move(line));
    }
    if (line_.size() > kMaxLine) {
      return Error{Code::kInvalid, "the agent sends a line without end"};
    }
    const std::string piece = TRY(next());
    if (piece.empty() && line_.empty()) return std::optional<std::string>();
    if (piece.empty()) return std::optional(std::exchange(line_, {}));
    line_ += piece;
  }
}

Result<std::string> HttpStream::rest() {
  std::string all = std::exchange(line_, {});
  for (;;) {
    const std::string piece = TRY(next());
    if (piece.empty()) return all;
    all += piece;
  }
}

Result<HttpStream> open_stream(const std::string& socket_path, const HttpQuestion& question) {
  try {
    HttpStream stream;
    stream.connection_ = std::make_unique<HttpStream::Connection>(socket_path);
    HttpStream::Connection& own = *stream.connection_;
    const auto until = asio::steady_timer::clock_type::now() + question.patience;
    TRY(connect(own.socket, socket_path, question.patience));
    http::request<http::string_body> request(http::string_to_verb(question.method), question.target,
                                             11);
    request.set(http::field::host, "corehold");
    request.set(http::field::connection, "close");
    if (!question.body.empty()) request.set(http::field::content_type, question.content_type);
    request.body() = question.body;
    request.prepare_payload();
    const auto sent = within(own.loop, own.socket, until,
                             [&](auto done) { http::async_write(own.socket, request, done); });
    if (!sent) return no_answer(socket_path);
    // A server that has had enough answers all the same.
    if (*sent && *sent != asio::error::broken_pipe) return gone(socket_path, *sent);
    const auto begun = within(own.loop, own.socket, until, [&](auto done) {
      http::async_read_header(own.socket, own.buffer, own.parser, done);
    });
    if (!begun) return no_answer(socket_path);
    if (*begun) return gone(socket_path, *begun);
    return stream;
  } catch (const std::exception& error) {
    return Error{Code::kIo, fmt::format("ask {}: {}", socket_path, error.what())};
  }
}

Result<HttpAnswer> ask(const std::string& socket_path, const HttpQuestion& question) {
  HttpStream stream = TRY(open_stream(socket_path, question));
  const int status = stream.status();
  return HttpAnswer{.status = status, .body = TRY(stream.rest())};
}

std::string url_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

}  // namespace corehold
