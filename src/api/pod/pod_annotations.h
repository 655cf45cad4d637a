// SPDX-License-Identifier: Apache-2.0
//
// Annotations of a pod that mean something to the node: what they may say.
#pragma once

#include <boost/json/object.hpp>

#include "api/field_errors.h"

namespace corehold {

// Those in `pod` that are not as in `before`, the pod so far; of a new pod that is empty. What
// was accepted once stays so, and does not stand in the way of other changes.
void check_own_annotations(const boost::json::object& before, const boost::json::object& pod,
                           FieldErrors& errors);

}  // namespace corehold
