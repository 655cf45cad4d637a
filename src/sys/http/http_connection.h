// SPDX-License-Identifier: Apache-2.0
//
// One connection of an HttpServer, from its first byte to its last: requests one after
// another, each in an exchange of its own. Only http_server.cc uses this.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "sys/http/http_server.h"
#include "sys/socket/channel.h"

namespace corehold {

class HttpConnection;

// How far a peer over TLS that is not authenticated has come.
enum class HttpStep { kSilent, kHandshake, kRequest };
inline constexpr std::size_t kHttpSteps = 3;

// What the connections need of the server, and it of them.
struct HttpShared {
  HttpServerOptions options{};
  // Owned here until they are dropped, for nobody else holds one that waits for its answer.
  std::set<std::shared_ptr<HttpConnection>> connections{};
  // Authenticated ones with no request under way, the one that has been so for longest first.
  std::list<HttpConnection*> quiet{};
  // Those that are not authenticated, by step; in each the one that came into it first is first.
  std::array<std::list<HttpConnection*>, kHttpSteps> unauthenticated{};
  std::vector<char> scratch = std::vector<char>(std::size_t{16} << 10U);  // for what is read
  std::uint64_t body_bytes = 0;  // of requests that come in
  bool closed = false;

  // How many connections there may be.
  struct Most {
    std::size_t authenticated = 0;
    std::size_t each_step = 0;  // of those that are not
  };
  Most most() const;
  std::size_t authenticated() const;
  // Lets go of the authenticated connection that has asked nothing for longest. False: all have.
  bool drop_quiet();
};

class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // Shared with the server's listener and the other connections.
  HttpConnection(Socket socket, std::shared_ptr<HttpShared> server);

  void start();
  // Says no to whatever will be asked. Not for TLS.
  void turn_away(int status, const std::string& message);
  // Drops the connection; nobody is told. Nothing the second time.
  void drop();

  // What an exchange is asked for, while it is the connection's current one.
  void answer(HttpResponse response);
  void begin(int status, const std::string& content_type);
  void write(std::string text);
  void end();
  void on_sent(std::function<void()> callback);
  void on_gone(std::function<void()> callback);

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class Stage {
    kNew,
    kHandshake,
    kIdle,    // between requests
    kHeader,  // some of it is there
    kBody,
    kBusy,    // the answer is waited for or on its way
    kLinger,  // all is said; the peer may still be sending
    kOver,
  };

  const HttpLimits& limits() const { return server_->options.limits; }
  bool is_reading() const { return stage_ == Stage::kHeader || stage_ == Stage::kBody; }
  bool is_chunked() const { return version_ >= 11; }
  void enter(Stage stage);
  void keep_place();
  void advance(HttpStep step);
  void leave_step();
  bool authenticate();
  std::chrono::seconds patience() const {
    return is_authenticated_ ? limits().idle : limits().header;
  }
  void expire_in(std::chrono::seconds time);
  void expire_after_bytes(std::uint64_t bytes);
  void keep_time();
  void wait_to_read();
  void wait_to_write();
  void go_on_reading();
  void readable();
  void writable();

  void shake();
  bool has_plain_http();
  void await_request();
  void receive();
  void take(std::string_view text);
  std::size_t parse(std::string_view text);
  void have_header();
  void have_request();
  void count_body();
  void unreadable(const boost::system::error_code& error);
  void complain(int status, const std::string& message);
  void refuse(HttpResponse response);
  void overhear();
  void linger();

  void respond(HttpResponse response);
  void send(std::string text);
  void flush();
  void settle();
  void finish();
  void lose();
  void lose_later();

  Socket socket_;
  std::shared_ptr<HttpShared> server_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::unique_ptr<Channel> channel_{};
  std::optional<std::list<HttpConnection*>::iterator> quiet_place_{};  // in the server's `quiet`
  std::optional<HttpStep> step_{};                     // while it is not authenticated
  std::list<HttpConnection*>::iterator step_place_{};  // there
  std::unique_ptr<Parser> parser_{};                   // while a request comes in
  std::unique_ptr<HttpRequest> coming_{};              // once its header is there
  std::uint64_t counted_body_ = 0;                     // in the server's body_bytes
  std::string ahead_{};                                // read, but not used yet
  std::function<void()> gone_{};
  std::function<void()> sent_{};
  std::deque<std::string> waiting_{};  // pieces to be sent
  std::size_t front_sent_ = 0;         // of the first of them
  std::size_t waiting_bytes_ = 0;
  std::size_t lingered_ = 0;  // bytes thrown away since all was said
  unsigned version_ = 11;
  Stage stage_ = Stage::kNew;
  bool is_authenticated_;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool is_unread_ = false;  // some of the request has not been read
  bool begun_ = false;      // the answer has
  bool complete_ = false;   // nothing more will be added to the answer
  bool timer_runs_ = false;
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool read_needs_write_ = false;  // TLS may want the other direction first
  bool write_needs_read_ = false;
  bool settles_ = false;  // settle() will be called
};

}  // namespace corehold
