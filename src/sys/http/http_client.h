// SPDX-License-Identifier: Apache-2.0
//
// Asks an HTTP server on a Unix socket, or over TCP with TLS, and waits for what it says:
// for commands that have nothing else to do meanwhile. One connection a question.
// Boost.Beast reads the messages; nothing throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// Where a server is, and how to be known there.
struct HttpEndpoint {
  std::string socket_path{};  // of a Unix socket; "": TCP with TLS
  std::string host{};         // a name or an IP address
  std::uint16_t port = 0;
  std::string authority{};  // that must vouch for the host, as PEM
  std::string token{};      // sent as bearer token

  // The path, or "https://HOST:PORT".
  std::string text() const;
};

struct HttpQuestion {
  std::string method = "GET";
  std::string target = "/";  // with its query, escaped
  std::string body{};
  std::string content_type = "application/json";  // of a body
  std::string accept{};                           // "": not said
  // Until the answer begins. A machine may be very busy; a person who waits can end the command.
  std::chrono::milliseconds patience{300'000};
};

struct HttpAnswer {
  int status = 0;
  std::string body{};
};

// An answer that comes in pieces.
class HttpStream {
 public:
  HttpStream();
  HttpStream(HttpStream&&) noexcept;
  HttpStream& operator=(HttpStream&&) noexcept;
  ~HttpStream();

  int status() const;

  // Waits for the next piece of the body; "" at its end. Fails with kIo when the server goes
  // in the middle of it.
  Result<std::string> next();
  // The next line without its end; no value at the end of the body. A last line may lack
  // its end. Fails as next(), and with kInvalid for one longer than a MiB.
  Result<std::optional<std::string>> next_line();
  // All that is left.
  Result<std::string> rest();

  // For poll(2): readable when the server has said something or has gone. What was read with
  // an earlier piece does not show here: has_more() does.
  int descriptor() const;
  // Whether next() has something to return without waiting.
  bool has_more() const;

 private:
  friend Result<HttpStream> open_stream(const HttpEndpoint&, const HttpQuestion&);
  struct Connection;

  std::unique_ptr<Connection> connection_;
  std::string line_{};  // read and not yet asked for
};

// Asks and waits for the beginning of the answer. Fails with kNotFound when nobody listens
// there, and kIo when the caller may not, the server goes before it answers, does not answer
// in time, or cannot prove that it is who it should be; kInvalid for an endpoint that is none.
Result<HttpStream> open_stream(const HttpEndpoint& endpoint, const HttpQuestion& question);
// Of a Unix socket.
Result<HttpStream> open_stream(const std::string& socket_path, const HttpQuestion& question);

// The same, and the whole answer.
Result<HttpAnswer> ask(const HttpEndpoint& endpoint, const HttpQuestion& question);
Result<HttpAnswer> ask(const std::string& socket_path, const HttpQuestion& question);

// A part of a target: what is not a letter, digit, or one of "-._~" as %XX.
std::string url_escape(std::string_view text);

}  // namespace corehold
