// SPDX-License-Identifier: Apache-2.0
//
// Static pods: those of the files below staticPodPath, for as long as they are there. Has the files
// read when they change and asks the manager for what static_pod_plan.h says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/shell/requests.h"
#include "agent/shell/shell.h"
#include "agent/static/static_file_reader.h"
#include "agent/static/static_pod_file.h"
#include "agent/static/static_pod_plan.h"
#include "agent/view/pod_names.h"
#include "sys/file/path_watch.h"
#include "sys/log/log.h"

namespace corehold {

// All of it must outlive the StaticPods, and the loop must not run any more when they go.
struct StaticPodsParts {
  boost::asio::io_context& loop;
  Shell& shell;
  const PodNames& names;
  Requests& requests;
  const Log& log;
  std::function<void(const EmitEvent&)> tell{};  // events, beside the lines in the log
  std::string path{};  // a directory or a file, absolute, there or not; "": no static pods
  StaticPodRules rules{};
  std::chrono::milliseconds retry{1000};  // after a failure; then twice as long
};

class StaticPods {
 public:
  explicit StaticPods(StaticPodsParts parts);
  StaticPods(const StaticPods&) = delete;
  StaticPods& operator=(const StaticPods&) = delete;

  // Has the files read for the first time. REQUIRES: the node has recovered.
  void begin();
  // The node has changed: these pods are touched, and what was in the way may be gone.
  // REQUIRES: `names` have followed it. Nothing is asked for before begin().
  void look(std::span<const std::string> touched);

 private:
  void on_change(const PathChange& change);
  void note_paths(const Result<std::set<std::string>>& paths);
  void note_text(const std::string& path, const Result<std::optional<std::string>>& text);
  void follow();
  void create(Pod pod);
  void remove(const std::string& uid);
  void report(std::map<std::string, std::string> problems);
  void try_later();

  StaticPodsParts parts_;
  std::unique_ptr<PathWatch> watch_{};
  StaticFileReader reader_;
  bool has_begun_ = false;               // the number of files was told
  std::optional<StaticFiles> files_{};   // no value: they have not been read yet, or cannot be
  std::set<std::string> static_pods_{};  // UIDs of those that the node has
  // Of the names when the files were last compared with them; no value: to be compared anew.
  std::optional<std::uint64_t> compared_{};
  std::set<std::string> asked_{};              // UIDs of which the manager's answer is outstanding
  std::map<std::string, std::string> told_{};  // problems, by path
  bool is_following_ = false;
  bool must_follow_again_ = false;
  // After a pod could not be created: the store is in trouble.
  boost::asio::steady_timer retry_;
  bool is_waiting_ = false;
  std::chrono::milliseconds delay_{};
};

}  // namespace corehold
