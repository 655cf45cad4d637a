// SPDX-License-Identifier: Apache-2.0
//
// Static pods: those of the files below staticPodPath, for as long as they are there. Reads the
// files when they change and asks the manager for what static_pod_plan.h says.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/log.h"
#include "agent/requests.h"
#include "agent/shell.h"
#include "agent/static_pod_file.h"
#include "agent/static_pod_plan.h"
#include "sys/path_watch.h"

namespace corehold {

// All of it must outlive the StaticPods, and the loop must not run any more when they go.
struct StaticPodsParts {
  boost::asio::io_context& loop;
  Shell& shell;
  Requests& requests;
  const Log& log;
  std::function<void(const EmitEvent&)> tell{};  // for those who do not read the log
  std::string path{};  // a directory or a file, absolute, there or not; "": no static pods
  StaticPodRules rules{};
  std::chrono::milliseconds retry{1000};  // after a failure; then twice as long
};

class StaticPods {
 public:
  explicit StaticPods(StaticPodsParts parts);
  StaticPods(const StaticPods&) = delete;
  StaticPods& operator=(const StaticPods&) = delete;

  // Reads the files for the first time. REQUIRES: the node has recovered.
  void begin();
  // The node has changed: what was in the way may be gone. Nothing before begin().
  void look();

 private:
  void on_change(const PathChange& change);
  void read_all();
  void read(const std::string& path);
  void follow();
  void create(Pod pod);
  void remove(const std::string& uid);
  void report(std::map<std::string, std::string> problems);
  void try_later();

  StaticPodsParts parts_;
  std::unique_ptr<PathWatch> watch_{};
  std::optional<StaticFiles> files_{};  // no value: they have not been read yet, or cannot be
  std::set<std::string> asked_{};       // UIDs of which the manager's answer is outstanding
  std::map<std::string, std::string> told_{};  // problems, by path
  bool is_following_ = false;
  bool must_follow_again_ = false;
  // After a pod could not be created: the store is in trouble.
  boost::asio::steady_timer retry_;
  bool is_waiting_ = false;
  std::chrono::milliseconds delay_{};
};

}  // namespace corehold
