// SPDX-License-Identifier: Apache-2.0
//
// Whether two values of a type mean the same, and how two specs differ, as a Kubernetes API
// server shows it: line by line, under the names that fields have inside it.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/object/core_types.h"

namespace corehold {

// Amounts are equal as numbers ("1" and "1000m"), and absent is equal to empty.
// REQUIRES: both are canonical (typed_reader.h).
bool means_the_same(const StructType& type, const boost::json::object& left,
                    const boost::json::object& right);

// A unified diff of two values of PodSpec.
std::string pod_spec_difference(const boost::json::object& before,
                                const boost::json::object& after);

}  // namespace corehold
