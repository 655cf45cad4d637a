// SPDX-License-Identifier: Apache-2.0
#include "agent/api/write_turns.h"

#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace corehold {

WriteTurns::WriteTurns(boost::asio::io_context& loop,
                       std::function<bool(const std::string&)> is_free)
    : loop_(loop), is_free_(std::move(is_free)) {}

bool WriteTurns::take(const std::string& key, Write write) {
  if (!waiting_.contains(key) && is_free_(key)) {
    write();
    return true;
  }
  waiting_[key].push_back(std::move(write));
  return false;
}

void WriteTurns::look() {
  if (waiting_.empty() || std::exchange(is_looking_, true)) return;
  boost::asio::post(loop_, [this] {
    is_looking_ = false;
    go_on();
  });
}

void WriteTurns::go_on() {
  std::vector<std::string> keys;
  keys.reserve(waiting_.size());
  for (const auto& [key, writes] : waiting_) keys.push_back(key);
  for (const std::string& key : keys) go_on(key);
}

void WriteTurns::go_on(const std::string& key) {
  std::deque<Write>& writes = waiting_.at(key);
  while (!writes.empty() && is_free_(key)) {
    const Write next = std::move(writes.front());
    writes.pop_front();
    next();
  }
  if (writes.empty()) waiting_.erase(key);
}

}  // namespace corehold
