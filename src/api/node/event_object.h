// SPDX-License-Identifier: Apache-2.0
//
// Events as the API gives them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

// One thing that has happened, as often as it has. Both ways: the agent fills it, a client
// reads it.
struct EventView {
  std::string id{};              // unique on the node; part of the Event's name
  std::string kind{};            // what it is about: "Pod", "Node"
  std::string namespace_name{};  // of the pod; "" for a node
  std::string name{};
  std::string uid{};
  std::string container{};  // "": none in particular
  std::string type{};       // "Normal", "Warning"
  std::string reason{};
  std::string message{};
  int count = 1;
  std::chrono::milliseconds first_at{};  // since the Unix epoch
  std::chrono::milliseconds last_at{};
  std::string host{};  // the node's name
  std::uint64_t resource_version = 0;

  bool operator==(const EventView&) const = default;
};

boost::json::object to_json(const EventView& view);
// Under which the Event is kept.
std::string event_name(const EventView& view);
std::string event_namespace(const EventView& view);
boost::json::object event_list_json(boost::json::array events, std::uint64_t resource_version);

// Times have seconds. Fails with kInvalid, naming the field.
Result<EventView> event_from_json(const boost::json::value& event);

}  // namespace corehold
