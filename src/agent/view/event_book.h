// SPDX-License-Identifier: Apache-2.0
//
// The latest events of the node, in memory: an event that repeats itself is counted, and when
// there are too many the oldest goes.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/node/event_object.h"
#include "manager/effect.h"
#include "manager/node_state.h"
#include "manager/time.h"

namespace corehold {

class EventBook {
 public:
  static constexpr std::size_t kMost = 1000;

  EventBook(std::string host, std::size_t most) : host_(std::move(host)), most_(most) {}

  struct Change {
    EventView view{};                 // as it is now
    std::optional<EventView> gone{};  // the oldest event, which was dropped for it
  };
  Change add(const EmitEvent& event, const NodeState& node, WallTime now);

  // In the order in which they last happened.
  std::vector<EventView> all() const;
  std::size_t size() const { return events_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, EmitEvent::Type, std::string, std::string>;

  struct Entry {
    Key key;
    EventView view;
  };

  std::string host_;
  std::size_t most_;
  std::list<Entry> events_{};  // by last_at
  std::map<Key, std::list<Entry>::iterator> by_key_{};
  std::uint64_t serial_ = 0;
};

}  // namespace corehold
