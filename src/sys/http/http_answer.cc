// SPDX-License-Identifier: Apache-2.0
//
// What a connection sends: answers, whole or in pieces, as fast as the peer takes them.
#include <sstream>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/write.hpp>

#include "sys/http/http_connection.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Outcome = Channel::Outcome;

// Longer bodies are sent from where they are.
constexpr std::size_t kJoinedBytes = std::size_t{16} << 10U;

std::string text_of(const http::response<http::empty_body>& head) {
  std::ostringstream text;
  text << head.base();
  return std::move(text).str();
}

}  // namespace

void HttpConnection::answer(HttpResponse response) {
  if (stage_ == Stage::kBusy && !begun_) respond(std::move(response));
}

void HttpConnection::respond(HttpResponse response) {
  begun_ = true;
  complete_ = true;
  http::response<http::empty_body> head;
  head.version(version_);
  head.result(static_cast<unsigned>(response.status));
  head.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) head.insert(name, value);
  head.keep_alive(keep_alive_);
  // These never have a body, and so no length.
  const bool is_empty = response.status == 204 || response.status == 304;
  if (!is_empty) head.content_length(response.body.size());
  std::string text = text_of(head);
  if (is_head_ || is_empty) response.body.clear();
  expire_after_bytes(response.body.size());
  if (response.body.size() <= kJoinedBytes) {
    text += response.body;
    return send(std::move(text));
  }
  waiting_bytes_ += text.size();
  waiting_.push_back(std::move(text));
  send(std::move(response.body));
}

void HttpConnection::begin(int status, const std::string& content_type) {
  if (stage_ != Stage::kBusy || begun_) return;
  begun_ = true;
  keep_alive_ = false;
  http::response<http::empty_body> head;
  head.version(version_);
  head.result(static_cast<unsigned>(status));
  head.set(http::field::content_type, content_type);
  head.keep_alive(false);
  if (is_chunked()) head.chunked(true);
  go_on_reading();
  send(text_of(head));
}

void HttpConnection::write(std::string text) {
  if (stage_ != Stage::kBusy || complete_ || text.empty() || is_head_) return;
  if (waiting_bytes_ + text.size() > limits().stream_bytes) return lose_later();
  if (!is_chunked()) return send(std::move(text));
  send(beast::buffers_to_string(http::make_chunk(asio::buffer(text))));
}

void HttpConnection::end() {
  if (stage_ != Stage::kBusy || complete_) return;
  complete_ = true;
  if (is_chunked() && !is_head_) return send(beast::buffers_to_string(http::make_chunk_last()));
  if (waiting_.empty()) flush();
}

void HttpConnection::on_sent(std::function<void()> callback) {
  if (stage_ == Stage::kBusy && !complete_) sent_ = std::move(callback);
}

void HttpConnection::on_gone(std::function<void()> callback) {
  if (stage_ != Stage::kBusy || complete_) return;
  gone_ = std::move(callback);
  go_on_reading();
}

void HttpConnection::send(std::string text) {
  waiting_bytes_ += text.size();
  waiting_.push_back(std::move(text));
  if (!waits_to_write_ && !write_needs_read_) flush();
}

void HttpConnection::flush() {
  while (!waiting_.empty()) {
    const std::string_view rest = std::string_view(waiting_.front()).substr(front_sent_);
    const Channel::Moved moved = channel_->write(rest);
    switch (moved.outcome) {
      case Outcome::kDone:
        break;
      case Outcome::kWaitToWrite:
        return wait_to_write();
      case Outcome::kWaitToRead:
        write_needs_read_ = true;
        return wait_to_read();
      case Outcome::kEnd:
      case Outcome::kBroken:
        return lose_later();
    }
    front_sent_ += moved.bytes;
    waiting_bytes_ -= moved.bytes;
    if (moved.bytes < rest.size()) continue;
    waiting_.pop_front();
    front_sent_ = 0;
  }
  // Later: the writer does not expect a callback in the middle of its call.
  if (std::exchange(settles_, true)) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->settles_ = false;
    self->settle();
  });
}

// All that was to be sent has been.
void HttpConnection::settle() {
  if (stage_ != Stage::kBusy || !waiting_.empty()) return;
  if (!complete_) {
    // A copy: it may end the stream, and so be forgotten, while it is called.
    if (const std::function<void()> tell = sent_; begun_ && tell) tell();
    return;
  }
  waiting_ = {};
  if (!keep_alive_ || server_->closed) return finish();
  gone_ = nullptr;
  sent_ = nullptr;
  parser_.reset();
  begun_ = false;
  complete_ = false;
  await_request();
}

void HttpConnection::lose_later() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->lose(); });
}

}  // namespace corehold
