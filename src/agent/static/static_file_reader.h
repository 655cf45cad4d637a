// SPDX-License-Identifier: Apache-2.0
//
// Reads the files below staticPodPath beside the loop, each by itself: a file on a file system that
// hangs costs its own pod and nobody else.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "sys/worker_lanes.h"

namespace corehold {

struct StaticFileEvents {
  // The paths that are there now; hidden files are left out. A path that is nowhere has none.
  std::function<void(const Result<std::set<std::string>>& paths)> listed;
  // A file's text; no value: it is gone, or no file.
  std::function<void(const std::string& path, const Result<std::optional<std::string>>& text)> read;
  // All that was asked for is read, or what is not takes long; then again for each that is late.
  std::function<void()> settled;
};

class StaticFileReader {
 public:
  // The loop must outlive it, and must not run any more when it goes.
  StaticFileReader(boost::asio::io_context& loop, std::string path, StaticFileEvents events);
  StaticFileReader(const StaticFileReader&) = delete;
  StaticFileReader& operator=(const StaticFileReader&) = delete;

  // Each ends with events. What is asked for while it is under way is done once more.
  void read_all();
  void read_names(const std::set<std::string>& names);

 private:
  enum class Round { kOnce, kAgain };

  void list();
  void read(const std::string& path);
  void ask(const std::string& path);
  void start_waiting();
  void end_one();

  std::string path_;
  StaticFileEvents events_;
  std::optional<Round> listing_{};          // no value: none is under way
  std::map<std::string, Round> reading_{};  // by path
  boost::asio::steady_timer patience_;
  bool is_late_ = false;  // what is outstanding takes long
  WorkerLanes lanes_;
};

}  // namespace corehold
