// SPDX-License-Identifier: Apache-2.0
//
// Reading one line of vectors: typed members with the conventions of the format
// (an absent boolean is false, an absent string "", an absent map empty). A
// member of the wrong type is an Error that names it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "family.h"
#include "state/state.h"

namespace corehold::vectors {

// Null when absent or JSON null.
const boost::json::value* find(const boost::json::object& line, std::string_view field);

Result<std::string> text_of(const boost::json::object& line, std::string_view field);
Result<bool> flag_of(const boost::json::object& line, std::string_view field);
Result<std::int64_t> number_of(const boost::json::object& line, std::string_view field);
Result<CpuSet> cpus_of(const boost::json::object& line, std::string_view field);
// The empty object when absent.
Result<boost::json::object> object_of(const boost::json::object& line, std::string_view field);
Result<std::map<std::string, std::string>> texts_of(const boost::json::object& line,
                                                    std::string_view field);
// The machine that the line's member "topo" names. Valid as long as `machines`.
Result<const Topology*> machine_of(const boost::json::object& line, const Machines& machines);

// Members defaultCpuSet and assignments.
Result<State> state_of(const boost::json::object& line);
// A list of NUMA ids; no value when it is null or absent.
Result<std::optional<NodeSet>> affinity_of(const boost::json::object& line);

}  // namespace corehold::vectors
