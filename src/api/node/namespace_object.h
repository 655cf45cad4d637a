// SPDX-License-Identifier: Apache-2.0
//
// Namespaces as the API gives them. On one node they are no more than names of pods: they come
// with the first pod and go with the last.
#pragma once

#include <chrono>
#include <string>

#include <boost/json/object.hpp>

namespace corehold {

boost::json::object namespace_json(const std::string& name, std::chrono::milliseconds created_at);

}  // namespace corehold
