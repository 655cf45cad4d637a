// SPDX-License-Identifier: Apache-2.0
//
// JSON Merge Patch (RFC 7386): objects are merged, null removes, everything else (lists
// too) is replaced.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/api_result.h"

namespace corehold {

// `patch` is the body; it fails with 400 unless it is an object.
ApiResult<boost::json::object> apply_merge_patch(boost::json::object current,
                                                 boost::json::value patch);

}  // namespace corehold
