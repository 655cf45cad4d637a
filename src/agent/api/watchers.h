// SPDX-License-Identifier: Apache-2.0
//
// The clients that watch: each has a stream that is fed from the catalogue whenever something
// has changed and the client has taken what it was sent before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/view/catalogue.h"
#include "api/serve/watch_log.h"
#include "sys/http/http_server.h"

namespace corehold {

class Watchers {
 public:
  // Both must outlive the watchers.
  Watchers(boost::asio::io_context& loop, Catalogue& catalogue)
      : loop_(loop), catalogue_(catalogue), bookmarks_(loop) {}
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  void open(const HttpExchangePtr& exchange, const WatchLog& log, WatchOptions options,
            ObjectView view, const std::string& content_type);

  // The catalogue has changed. Watchers are sent the changes by a later turn of the loop, several
  // at once.
  void wake();

  std::size_t size() const { return streams_.size(); }

 private:
  struct Stream {
    HttpExchangePtr exchange;
    Resource resource;
    Watch watch;
    boost::asio::steady_timer timeout;
    bool is_sending = true;  // the peer has not taken all yet
  };
  using StreamId = std::uint64_t;

  void pump(StreamId id);
  void pump_all();
  void end(StreamId id);
  void arm_bookmarks();
  void send_bookmarks();

  boost::asio::io_context& loop_;
  Catalogue& catalogue_;
  boost::asio::steady_timer bookmarks_;
  bool are_bookmarks_due_ = false;
  bool is_waking_ = false;
  std::map<StreamId, Stream> streams_{};
  StreamId last_ = 0;
};

}  // namespace corehold
