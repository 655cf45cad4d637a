// SPDX-License-Identifier: Apache-2.0
//
// JSON whose numbers are the nearest doubles to what is written. Boost.JSON 1.81 by itself is off
// by the last bit for some, and an object that is read and written again would change.
#pragma once

#include <cstddef>
#include <string_view>

#include <boost/json/error.hpp>
#include <boost/json/value.hpp>

namespace corehold {

// As boost::json::parse. `read`, where given, is how much of the text was read before an error.
boost::json::value parse_exact_json(std::string_view text, std::size_t max_depth,
                                    boost::json::error_code& failed, std::size_t* read = nullptr);

}  // namespace corehold
