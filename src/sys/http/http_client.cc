// SPDX-License-Identifier: Apache-2.0
#include "sys/http/http_client.h"

#include <array>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "sys/http/http_connect.h"
#include "sys/http/http_parse.h"
#include "sys/socket/channel.h"
#include "sys/socket/socket_address.h"

namespace corehold {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Outcome = Channel::Outcome;

constexpr std::size_t kMaxLine = std::size_t{1} << 20U;
constexpr std::size_t kPiece = 16384;

Error gone(const std::string& place, const std::string& why) {
  return {Code::kIo, fmt::format("the agent on {} has gone away: {}", place, why)};
}

std::string head_of(const HttpEndpoint& endpoint, const HttpQuestion& question) {
  http::request<http::empty_body> head(http::string_to_verb(question.method), question.target, 11);
  const bool is_local = !endpoint.socket_path.empty();
  head.set(http::field::host,
           is_local ? "corehold" : to_text({.host = endpoint.host, .port = endpoint.port}));
  head.set(http::field::connection, "close");
  head.set(http::field::user_agent, "corehold");
  if (!question.accept.empty()) head.set(http::field::accept, question.accept);
  if (!endpoint.token.empty()) head.set(http::field::authorization, "Bearer " + endpoint.token);
  if (!question.body.empty()) head.set(http::field::content_type, question.content_type);
  const bool may_have_body = question.method != "GET" && question.method != "HEAD";
  if (may_have_body || !question.body.empty()) head.content_length(question.body.size());
  std::ostringstream text;
  text << head.base();
  return std::move(text).str();
}

}  // namespace

struct HttpStream::Connection {
  explicit Connection(HttpLine open) : line(std::move(open)) { parser.body_limit(boost::none); }

  // Waits for more of the answer, at the most until then; no value: that was too long. Fails
  // when the server has gone.
  Result<bool> read_more(Deadline until) {
    std::array<char, kPiece> piece{};
    for (;;) {
      const Channel::Moved moved = line.channel->read(piece.data(), piece.size());
      if (moved.outcome == Outcome::kDone) {
        ahead.append(piece.data(), moved.bytes);
        return true;
      }
      if (moved.outcome == Outcome::kBroken) return gone(place, line.channel->trouble());
      if (moved.outcome == Outcome::kEnd) {
        has_ended = true;
        return true;
      }
      if (!wait_for(line, moved.outcome, until)) return false;
    }
  }

  // Reads from what is there; whether it was enough for anything.
  Result<bool> parse() {
    ErrorCode ec;
    std::size_t used = 0;
    if (!ahead.empty()) {
      used = parse_some(parser, ahead, ec);
      ahead.erase(0, used);
    }
    if (ec == http::error::need_more || ec == http::error::need_buffer) ec = {};
    if (!ec && used == 0 && has_ended) {
      if (!parser.got_some()) return gone(place, "it has hung up");
      parser.put_eof(ec);
    }
    if (ec) return gone(place, ec.message());
    return used > 0 || has_ended;
  }

  HttpLine line;
  std::string place{};  // for messages
  std::string ahead{};  // read, but not used yet
  bool has_ended = false;
  http::response_parser<http::buffer_body> parser{};
};

namespace {

// Sends it all; a server that has had enough answers all the same, so what it does not take
// is no failure.
Result<void> send(const HttpLine& line, std::string_view text, Deadline until,
                  const std::string& place) {
  while (!text.empty()) {
    const Channel::Moved moved = line.channel->write(text);
    if (moved.outcome == Outcome::kBroken || moved.outcome == Outcome::kEnd) return {};
    text.remove_prefix(moved.bytes);
    if (moved.outcome != Outcome::kDone && !wait_for(line, moved.outcome, until)) {
      return no_answer(place);
    }
  }
  return {};
}

}  // namespace

std::string HttpEndpoint::text() const {
  if (!socket_path.empty()) return socket_path;
  return "https://" + to_text({.host = host, .port = port});
}

HttpStream::HttpStream() = default;
HttpStream::HttpStream(HttpStream&&) noexcept = default;
HttpStream& HttpStream::operator=(HttpStream&&) noexcept = default;
HttpStream::~HttpStream() = default;

int HttpStream::status() const { return static_cast<int>(connection_->parser.get().result_int()); }

int HttpStream::descriptor() const { return connection_->line.socket.get(); }

bool HttpStream::has_more() const {
  return !line_.empty() || !connection_->ahead.empty() || connection_->has_ended ||
         connection_->parser.is_done() || connection_->line.channel->has_buffered();
}

Result<std::string> HttpStream::next() {
  Connection& own = *connection_;
  std::array<char, kPiece> piece{};
  while (!own.parser.is_done()) {
    auto& body = own.parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    const bool advanced = TRY(own.parse());
    const std::size_t got = piece.size() - body.size;
    if (got > 0) return std::string(piece.data(), got);
    if (!advanced) TRY(own.read_more(Deadline::max()));
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

Result<HttpStream> open_stream(const HttpEndpoint& endpoint, const HttpQuestion& question) {
  try {
    const Deadline until = Clock::now() + question.patience;
    const std::string place = endpoint.text();
    HttpLine line = TRY(connect(endpoint, until));
    HttpStream stream;
    stream.connection_ = std::make_unique<HttpStream::Connection>(std::move(line));
    HttpStream::Connection& own = *stream.connection_;
    own.place = place;
    TRY(send(own.line, head_of(endpoint, question), until, place));
    TRY(send(own.line, question.body, until, place));
    while (!own.parser.is_header_done()) {
      if (TRY(own.parse())) continue;
      if (!TRY(own.read_more(until))) return no_answer(place);
    }
    return stream;
  } catch (const std::exception& error) {
    return Error{Code::kIo, fmt::format("ask {}: {}", endpoint.text(), error.what())};
  }
}

Result<HttpStream> open_stream(const std::string& socket_path, const HttpQuestion& question) {
  return open_stream(HttpEndpoint{.socket_path = socket_path}, question);
}

Result<HttpAnswer> ask(const HttpEndpoint& endpoint, const HttpQuestion& question) {
  HttpStream stream = TRY(open_stream(endpoint, question));
  const int status = stream.status();
  return HttpAnswer{.status = status, .body = TRY(stream.rest())};
}

Result<HttpAnswer> ask(const std::string& socket_path, const HttpQuestion& question) {
  return ask(HttpEndpoint{.socket_path = socket_path}, question);
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
