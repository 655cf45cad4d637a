// SPDX-License-Identifier: Apache-2.0
//
// The objects that the API serves, with a version each: what lists and watches are answered
// from. Follows the node: after every change of it the objects that look different get a new
// version. One counter numbers all changes, so that a list of anything can be continued by a
// watch of anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/event_book.h"
#include "agent/node_facts.h"
#include "api/resource.h"
#include "api/watch_log.h"
#include "manager/node_state.h"

namespace corehold {

class Catalogue {
 public:
  // `version` is above all that clients may remember from earlier lives. `facts` must outlive
  // the catalogue.
  Catalogue(const NodeFacts& facts, std::uint64_t version);

  // Called after changes, once for each call of the functions below that made any.
  std::function<void()> on_change{};

  // Pods and namespaces as the node has them now.
  void follow(const NodeState& node);
  void follow(const EventBook::Change& change);
  void follow(boost::json::object node_object);

  // As it is now: lists made from it speak of the newest version.
  const WatchLog& log(Resource resource);

 private:
  // What a pod looks like comes from these alone, as far as it changes.
  struct Look {
    std::uint64_t edits = 0;
    std::uint64_t generation = 0;
    WallTime deleted_at{};
    std::chrono::seconds grace{};
    WallTime started_at{};
    std::string reason{};
    std::string message{};
    bool failed = false;
    bool admitted = false;
    RestartAll restart_all{};
    // What is granted changes only together with one of these.
    bool wishes = false;
    WallTime wished_at{};
    std::optional<ResizeVerdict> verdict{};
    std::string resize_message{};
    std::map<std::string, std::string> resize_errors{};
    std::vector<std::int64_t> containers{};  // some numbers for each

    bool operator==(const Look&) const = default;
  };
  struct Shown {
    std::string namespace_name{};
    std::string name{};
    Look look{};
  };

  static Look look_of(const PodState& pod);
  WatchLog& writable(Resource resource) { return logs_.at(resource); }
  bool remove_gone(const NodeState& node);
  void follow_namespaces();
  void changed(bool any);

  const NodeFacts* facts_;  // never null
  std::uint64_t version_;
  std::map<Resource, WatchLog> logs_{};
  std::map<std::string, Shown> pods_{};  // by UID
};

}  // namespace corehold
