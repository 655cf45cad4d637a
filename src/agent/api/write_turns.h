// SPDX-License-Identifier: Apache-2.0
//
// Writers of one object take turns. A change is made from the object as the change before has
// left it, and whether that earlier change stays is known only when the store has answered. Until
// then later writes of the object wait, and go on in the order in which they came.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include <boost/asio/io_context.hpp>

namespace corehold {

class WriteTurns {
 public:
  using Write = std::function<void()>;

  // `is_free` tells whether the object of a key can be changed now; a write that changes it makes
  // it not free before it returns. The loop must not run any more when this goes.
  WriteTurns(boost::asio::io_context& loop, std::function<bool(const std::string&)> is_free);

  // Runs the write at once, or when it is its turn. False: it has to wait.
  bool take(const std::string& key, Write write);

  // To be called when an object may have become free. Nothing is run from here.
  void look();

 private:
  void go_on();
  void go_on(const std::string& key);

  boost::asio::io_context& loop_;
  std::function<bool(const std::string&)> is_free_;
  std::map<std::string, std::deque<Write>> waiting_{};  // none is empty
  bool is_looking_ = false;
};

}  // namespace corehold
