// SPDX-License-Identifier: Apache-2.0
//
// From what was asked for last time, what is asked for now and what there is, to the patch
// that makes the one of the other: what `kubectl apply` does on the client's side. Pure.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

namespace corehold {

struct ThreeWay {
  const boost::json::object& applied;  // last time; empty: not known
  const boost::json::object& wanted;
  const boost::json::object& current;
};

// A strategic merge patch for an object of that kind ("Pod"). Fields of `wanted` that
// `current` has otherwise are set, fields that only `applied` has are removed, and all
// others are left alone: defaults, the status, what somebody else wrote. Amounts are compared
// by what they are worth ("1", "1000m"). Empty: there is nothing to change.
boost::json::object three_way_patch(std::string_view kind, const ThreeWay& objects);

}  // namespace corehold
