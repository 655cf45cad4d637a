// SPDX-License-Identifier: Apache-2.0
#include "agent/api/watchers.h"

#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "sys/clock.h"

namespace corehold {
namespace {

// About as often as Kubernetes sends them.
constexpr std::chrono::seconds kBookmarkPeriod{60};

}  // namespace

void Watchers::open(const HttpExchangePtr& exchange, const WatchLog& log, WatchOptions options,
                    ObjectView view, const std::string& content_type) {
  const StreamId id = ++last_;
  const auto timeout = options.timeout;
  const bool wants_bookmarks = options.bookmarks;
  const auto [entry, _] =
      streams_.emplace(id, Stream{.exchange = exchange,
                                  .resource = log.resource(),
                                  .watch = log.watch(std::move(options), std::move(view)),
                                  .timeout = boost::asio::steady_timer(loop_)});
  if (timeout) {
    entry->second.timeout.expires_after(*timeout);
    entry->second.timeout.async_wait([this, id](const auto& error) {
      if (!error) end(id);
    });
  }
  exchange->on_gone([this, id] { streams_.erase(id); });
  exchange->on_sent([this, id] {
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) return;
    stream->second.is_sending = false;
    pump(id);
  });
  exchange->begin(200, content_type);
  if (wants_bookmarks) arm_bookmarks();
}

void Watchers::wake() {
  if (is_waking_ || streams_.empty()) return;
  is_waking_ = true;
  boost::asio::post(loop_, [this] {
    is_waking_ = false;
    pump_all();
  });
}

void Watchers::pump_all() {
  std::vector<StreamId> ids;
  ids.reserve(streams_.size());
  for (const auto& [id, stream] : streams_) ids.push_back(id);
  for (const StreamId id : ids) pump(id);
}

void Watchers::pump(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.is_sending) return;
  Stream& stream = found->second;
  const Taken taken = catalogue_.log(stream.resource).take(stream.watch, wall_now());
  std::string text;
  for (const WatchLine& line : taken.lines) text += *line;
  if (!text.empty()) {
    stream.is_sending = true;
    stream.exchange->write(std::move(text));
  }
  if (taken.ended) end(id);
}

void Watchers::end(StreamId id) {
  const auto stream = streams_.extract(id);
  if (!stream.empty()) stream.mapped().exchange->end();
}

void Watchers::arm_bookmarks() {
  if (are_bookmarks_due_) return;
  are_bookmarks_due_ = true;
  bookmarks_.expires_after(kBookmarkPeriod);
  bookmarks_.async_wait([this](const auto& error) {
    if (error) return;
    are_bookmarks_due_ = false;
    send_bookmarks();
  });
}

void Watchers::send_bookmarks() {
  pump_all();
  bool any = false;
  for (auto& [id, stream] : streams_) {
    if (!stream.watch.options().bookmarks) continue;
    any = true;
    if (stream.is_sending) continue;
    stream.is_sending = true;
    stream.exchange->write(*catalogue_.log(stream.resource).bookmark(stream.watch, wall_now()));
  }
  if (any) arm_bookmarks();
}

}  // namespace corehold
