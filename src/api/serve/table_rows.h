// SPDX-License-Identifier: Apache-2.0
//
// What the tables of each resource show: their columns and, of one object, the cells. For
// table.cc and those who show a cell elsewhere.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/serve/resource.h"

namespace corehold {

struct TableColumn {
  std::string_view name{};
  std::string_view description{};
  int priority = 0;  // above 0: only for wide tables
};

std::span<const TableColumn> table_columns(Resource resource);

// One for each column. `now` is since the Unix epoch: ages count up to it.
boost::json::array event_cells(const boost::json::object& event, std::chrono::milliseconds now);
boost::json::array namespace_cells(const boost::json::object& object,
                                   std::chrono::milliseconds now);
boost::json::array node_cells(const boost::json::object& node, std::chrono::milliseconds now);
boost::json::array pod_cells(const boost::json::object& pod, std::chrono::milliseconds now);

// How long ago that was, as the tables say it: "<unknown>" when `time` is empty or no time,
// "<invalid>" when it is to come.
std::string age_since(std::string_view time, std::chrono::milliseconds now);

}  // namespace corehold
