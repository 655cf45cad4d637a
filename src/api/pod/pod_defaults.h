// SPDX-License-Identifier: Apache-2.0
//
// What a Kubernetes API server fills in where a pod says nothing, with its default admission
// plugins: seconds of toleration, priority.
#pragma once

#include <boost/json/object.hpp>

namespace corehold {

// Idempotent. REQUIRES: a Pod, canonical (typed_reader.h); it is not quite so afterwards.
void set_pod_defaults(boost::json::object& pod);

}  // namespace corehold
