// SPDX-License-Identifier: Apache-2.0
//
// Asks an HTTP server on a Unix socket and waits for what it says: for commands that have
// nothing else to do meanwhile. One connection a question. The adapter for Boost.Beast:
// nothing throws.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

struct HttpQuestion {
  std::string method = "GET";
  std::string target = "/";  // with its query, escaped
  std::string body{};
  std::string content_type = "application/json";  // of a body
  std::chrono::milliseconds patience{30'000};     // until the answer begins
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

  // For poll(2): readable when the server has said something or has gone.
  int descriptor() const;

 private:
  friend Result<HttpStream> open_stream(const std::string&, const HttpQuestion&);
  struct Connection;

  std::unique_ptr<Connection> connection_;
  std::string line_{};  // read and not yet asked for
};

// Asks and waits for the beginning of the answer. Fails with kNotFound when nobody listens
// there, and kIo when the caller may not, the server goes before it answers, or does not
// answer in time.
Result<HttpStream> open_stream(const std::string& socket_path, const HttpQuestion& question);

// The same, and the whole answer.
Result<HttpAnswer> ask(const std::string& socket_path, const HttpQuestion& question);

// A part of a target: what is not a letter, digit, or one of "-._~" as %XX.
std::string url_escape(std::string_view text);

}  // namespace corehold
