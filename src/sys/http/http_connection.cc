// SPDX-License-Identifier: Apache-2.0
//
// Coming and going: the stages of a connection, what it waits for and until when. What it is
// asked is in http_request.cc, what it answers in http_answer.cc.
#include "sys/http/http_connection.h"

#include <sys/socket.h>

#include <utility>

#include <boost/asio/post.hpp>

#include "sys/socket/tls.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Outcome = Channel::Outcome;

constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = std::size_t{1} << 20U;
constexpr std::string_view kPlainHttpOverTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 48\r\nConnection: close\r\n\r\n"
    "Client sent an HTTP request to an HTTPS server.\n";

}  // namespace

HttpConnection::HttpConnection(Socket socket, std::shared_ptr<HttpShared> server)
    : socket_(std::move(socket)),
      server_(std::move(server)),
      timer_(socket_.get_executor()),
      is_authenticated_(server_->options.tls == nullptr) {}

void HttpConnection::start() {
  server_->connections.insert(shared_from_this());
  if (!server_->options.tls) {
    channel_ = plain_channel(socket_.native_handle());
    return await_request();
  }
  enter(Stage::kHandshake);
  advance(HttpStep::kSilent);
  expire_in(limits().header);
  wait_to_read();
}

void HttpConnection::turn_away(int status, const std::string& message) {
  server_->connections.insert(shared_from_this());
  channel_ = plain_channel(socket_.native_handle());
  complain(status, message);
}

void HttpConnection::enter(Stage stage) {
  stage_ = stage;
  keep_place();
}

// In the server's list of quiet connections, or out of it.
void HttpConnection::keep_place() {
  const bool is_quiet = is_authenticated_ && (stage_ == Stage::kIdle || stage_ == Stage::kHeader ||
                                              stage_ == Stage::kLinger);
  if (is_quiet == quiet_place_.has_value()) return;
  if (is_quiet) {
    quiet_place_ = server_->quiet.insert(server_->quiet.end(), this);
  } else {
    server_->quiet.erase(*std::exchange(quiet_place_, std::nullopt));
  }
}

void HttpConnection::advance(HttpStep step) {
  leave_step();
  auto& others = server_->unauthenticated.at(static_cast<std::size_t>(step));
  while (others.size() >= server_->most().each_step) others.front()->lose();
  step_ = step;
  step_place_ = others.insert(others.end(), this);
}

void HttpConnection::leave_step() {
  if (!step_) return;
  server_->unauthenticated.at(static_cast<std::size_t>(*step_)).erase(step_place_);
  step_.reset();
}

// From now on it counts among the authenticated connections; false: there are too many of them.
bool HttpConnection::authenticate() {
  if (is_authenticated_) return true;
  const std::size_t most = server_->most().authenticated;
  if (server_->authenticated() >= most && !server_->drop_quiet()) return false;
  leave_step();
  is_authenticated_ = true;
  keep_place();
  return true;
}

void HttpConnection::expire_in(std::chrono::seconds time) {
  deadline_ = Clock::now() + time;
  // One that runs and fires before is as good: it looks at the deadline again.
  if (!timer_runs_ || timer_.expiry() > deadline_) keep_time();
}

void HttpConnection::expire_after_bytes(std::uint64_t bytes) {
  expire_in(patience() + std::chrono::seconds(bytes / limits().least_bytes_per_second));
}

void HttpConnection::keep_time() {
  timer_.expires_at(deadline_);
  timer_runs_ = true;
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!self || error == asio::error::operation_aborted) return;
    self->timer_runs_ = false;
    if (self->stage_ == Stage::kOver || self->deadline_ == Clock::time_point::max()) return;
    if (Clock::now() < self->deadline_) return self->keep_time();
    self->lose();
  });
}

void HttpConnection::wait_to_read() {
  if (std::exchange(waits_to_read_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->waits_to_read_ = false;
    if (self->stage_ == Stage::kOver) return;
    if (error) return self->lose();
    self->readable();
  });
}

void HttpConnection::wait_to_write() {
  if (std::exchange(waits_to_write_, true)) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& error) {
    self->waits_to_write_ = false;
    if (self->stage_ == Stage::kOver) return;
    if (error) return self->lose();
    self->writable();
  });
}

void HttpConnection::go_on_reading() {
  if (!channel_->has_buffered()) return wait_to_read();
  if (std::exchange(waits_to_read_, true)) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->waits_to_read_ = false;
    if (self->stage_ != Stage::kOver) self->readable();
  });
}

void HttpConnection::readable() {
  if (std::exchange(write_needs_read_, false)) flush();
  switch (stage_) {
    case Stage::kHandshake:
      return shake();
    case Stage::kIdle:
    case Stage::kHeader:
    case Stage::kBody:
      return receive();
    case Stage::kBusy:
      return overhear();
    case Stage::kLinger:
      return linger();
    case Stage::kNew:
    case Stage::kOver:
      return;
  }
}

void HttpConnection::writable() {
  if (stage_ == Stage::kHandshake) return shake();
  flush();
  if (std::exchange(read_needs_write_, false)) readable();
}

// Whether a client has begun to speak HTTP where TLS should be: TLS begins with no letter.
bool HttpConnection::has_plain_http() {
  char first = 0;
  return ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first >= 'A' &&
         first <= 'Z';
}

void HttpConnection::shake() {
  // Only at the very beginning: in the middle of a record there may be any byte.
  if (!channel_ && has_plain_http()) {
    channel_ = plain_channel(socket_.native_handle());
    advance(HttpStep::kHandshake);
    enter(Stage::kBusy);
    begun_ = complete_ = is_unread_ = true;
    return send(std::string(kPlainHttpOverTls));
  }
  // Not before there is something to read: a peer that says nothing costs little.
  if (!channel_) {
    channel_ = server_->options.tls->accept(socket_.native_handle());
    advance(HttpStep::kHandshake);
  }
  switch (channel_->handshake().outcome) {
    case Outcome::kDone:
      advance(HttpStep::kRequest);
      return await_request();
    case Outcome::kWaitToRead:
      return wait_to_read();
    case Outcome::kWaitToWrite:
      return wait_to_write();
    case Outcome::kEnd:
    case Outcome::kBroken:
      return drop();
  }
}

void HttpConnection::await_request() {
  enter(Stage::kIdle);
  expire_in(patience());
  if (!ahead_.empty()) return take("");
  ahead_ = std::string();  // the memory, too
  go_on_reading();
}

void HttpConnection::receive() {
  std::vector<char>& scratch = server_->scratch;
  const Channel::Moved moved = channel_->read(scratch.data(), scratch.size());
  switch (moved.outcome) {
    case Outcome::kDone:
      return take({scratch.data(), moved.bytes});
    case Outcome::kWaitToRead:
      return wait_to_read();
    case Outcome::kWaitToWrite:
      read_needs_write_ = true;
      return wait_to_write();
    case Outcome::kEnd:
    case Outcome::kBroken:
      return drop();
  }
}

// While the answer is waited for: has the peer gone?
void HttpConnection::overhear() {
  if (complete_) return;
  std::vector<char>& scratch = server_->scratch;
  const Channel::Moved moved = channel_->read(scratch.data(), scratch.size());
  switch (moved.outcome) {
    case Outcome::kDone:
      // The next request, perhaps; but nobody needs to send so much before the answer.
      if (ahead_.size() + moved.bytes > limits().header_bytes) return lose();
      ahead_.append(scratch.data(), moved.bytes);
      return go_on_reading();
    case Outcome::kWaitToRead:
      return wait_to_read();
    case Outcome::kWaitToWrite:
      read_needs_write_ = true;
      return wait_to_write();
    case Outcome::kEnd:
    case Outcome::kBroken:
      return lose();
  }
}

// The answer is out.
void HttpConnection::finish() {
  gone_ = nullptr;
  sent_ = nullptr;
  channel_->end_writing();
  if (!is_unread_ && ahead_.empty()) return drop();
  // To close now would tell a peer that still sends that it was cut off, and it might never
  // see the answer: a little is read on and thrown away.
  channel_ = plain_channel(socket_.native_handle());
  parser_.reset();
  enter(Stage::kLinger);
  expire_in(kLingerTime);
  wait_to_read();
}

void HttpConnection::linger() {
  std::vector<char>& scratch = server_->scratch;
  const Channel::Moved moved = channel_->read(scratch.data(), scratch.size());
  if (moved.outcome == Outcome::kWaitToRead) return wait_to_read();
  lingered_ += moved.bytes;
  if (moved.outcome != Outcome::kDone || lingered_ > kLingerBytes) return drop();
  wait_to_read();
}

void HttpConnection::drop() {
  if (stage_ == Stage::kOver) return;
  const auto self = shared_from_this();  // the server lets go of it
  enter(Stage::kOver);
  leave_step();
  // What they hold may come back here when it goes: last of all.
  const std::function<void()> gone = std::exchange(gone_, nullptr);
  const std::function<void()> sent = std::exchange(sent_, nullptr);
  server_->body_bytes -= std::exchange(counted_body_, 0);
  server_->connections.erase(self);
  waiting_.clear();
  ahead_ = std::string();
  timer_.cancel();
  error_code ignored;
  static_cast<void>(socket_.close(ignored));
}

// The peer has gone, or is let go.
void HttpConnection::lose() {
  if (stage_ == Stage::kOver) return;
  const std::function<void()> tell = std::exchange(gone_, nullptr);
  const bool incomplete = !complete_;
  drop();
  if (tell && incomplete) tell();
}

}  // namespace corehold
