// SPDX-License-Identifier: Apache-2.0
//
// The objects that the API serves, with a version each: what lists and watches are answered
// from. Follows the node: each pod that a step has touched is rendered, and gets a new version
// when that differs from what is shown. One counter numbers all changes, so that a list of
// anything can be continued by a watch of anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/node/node_facts.h"
#include "agent/view/event_book.h"
#include "api/serve/resource.h"
#include "api/serve/watch_log.h"
#include "manager/node_state.h"

namespace corehold {

class Catalogue {
 public:
  // `version` is above all that clients may remember from earlier lives. `facts` must outlive
  // the catalogue.
  Catalogue(const NodeFacts& facts, std::uint64_t version);

  // Called after changes, once for each call of the functions below that made any.
  std::function<void()> on_change{};

  // Renders the pods with these UIDs and their namespaces; pods that the node no longer has go.
  void follow(const NodeState& node, std::span<const std::string> touched);
  void follow(const EventBook::Change& change);
  void follow(boost::json::object node_object);

  // The objects as they are now, under the newest version.
  const WatchLog& log(Resource resource);

  // Where the pods and namespaces that are shown are not what would be rendered afresh, a line
  // for each; empty when all is well. Looks at every pod: for debug builds and COREHOLD_CHECK.
  std::vector<std::string> differences(const NodeState& node) const;

 private:
  struct Shown {
    std::string namespace_name{};
    std::string name{};
  };

  WatchLog& writable(Resource resource) { return logs_.at(resource); }
  bool show(const std::string& uid, const RunPod& pod, const PlacedPod& placed);
  bool hide(const std::string& uid);
  void follow_namespaces();
  void changed(bool any);

  const NodeFacts* facts_;  // never null
  std::uint64_t version_;
  std::map<Resource, WatchLog> logs_{};
  std::map<std::string, Shown> pods_{};              // by UID
  std::map<std::string, std::size_t> population_{};  // how many of them are in each namespace
  std::set<std::string> repopulated_{};  // namespaces whose first pod has come or last has gone
};

}  // namespace corehold
