// SPDX-License-Identifier: Apache-2.0
//
// Strategic merge patch, what kubectl apply, patch and edit send: a merge patch that knows
// the types. Lists with a merge key (object_schema.h) are merged element by element, and
// directives in the patch say what else is meant:
//   "$patch": "replace" | "delete"          this object, or this element of a list
//   "$retainKeys": [...]                    of this object only these keys stay
//   "$setElementOrder/LIST": [...]          the order that the elements of LIST get
//   "$deleteFromPrimitiveList/LIST": [...]  these values leave LIST
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/api_result.h"

namespace corehold {

// `kind` is the object's ("Pod"); of a kind without schema every list is replaced. `patch` is
// the body; null changes nothing. It fails with 400 for a patch or a directive of the wrong
// form and, as in Kubernetes, with 500 for most other mistakes: an element without its merge
// key, an unknown directive, an order that contradicts the patch.
ApiResult<boost::json::object> apply_strategic_patch(std::string_view kind,
                                                     boost::json::object current,
                                                     boost::json::value patch);

}  // namespace corehold
