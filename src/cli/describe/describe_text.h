// SPDX-License-Identifier: Apache-2.0
//
// The parts that the pages of describe have in common. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/node/event_object.h"

namespace corehold {

// "2026-11-16T04:57:42Z (3m5s ago)"; "-" for none.
std::string moment(std::string_view time, std::chrono::milliseconds now);

// The members of an object as "key=value" lines; empty: none.
std::vector<std::string> pairs_of(const boost::json::object* object);

// "conditions" and a table of status.conditions; empty: there are none.
std::string conditions_text(const boost::json::object& object, std::chrono::milliseconds now);

// "events" and a table of them, or that there are none.
std::string events_text(std::vector<EventView> events, std::chrono::milliseconds now);

}  // namespace corehold
