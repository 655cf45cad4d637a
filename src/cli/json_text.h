// SPDX-License-Identifier: Apache-2.0
//
// JSON for programs that people can read too.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace corehold {

// Two spaces of indent, members in their order; what holds no list of lists or objects is
// on one line. A newline at the end.
std::string json_text(const boost::json::value& value);

}  // namespace corehold
