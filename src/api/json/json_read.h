// SPDX-License-Identifier: Apache-2.0
//
// Reading fields of the API's own objects, beside those of pod/json_field.h. A field that
// is absent or null gives what is said there; one of another type is kInvalid, by its path.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/json_field.h"

namespace corehold {

// The object that `value` is.
Result<const boost::json::object*> as_object(const boost::json::value& value, const Path& path);

// Fails unless `object` says that it is of this kind.
Result<void> expect_kind(const boost::json::object& object, std::string_view kind);

// `absent` for absent.
Result<std::int64_t> integer_field(const boost::json::object& object, const Path& path,
                                   std::string_view key, std::int64_t absent);
// Fails for absent, and beyond what an int holds.
Result<int> id_field(const boost::json::object& object, const Path& path, std::string_view key);
// False for absent.
Result<bool> bool_field(const boost::json::object& object, const Path& path, std::string_view key);
// Empty for absent.
Result<std::vector<std::string>> strings_field(const boost::json::object& object, const Path& path,
                                               std::string_view key);
Result<CpuSet> cpus_field(const boost::json::object& object, const Path& path,
                          std::string_view key);
Result<NodeSet> nodes_field(const boost::json::object& object, const Path& path,
                            std::string_view key);
// Zero for absent.
Result<std::chrono::milliseconds> time_field(const boost::json::object& object, const Path& path,
                                             std::string_view key);

}  // namespace corehold
