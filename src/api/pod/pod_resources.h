// SPDX-License-Identifier: Apache-2.0
//
// The amounts in a pod's JSON: resource lists as quantities, and what its containers ask for
// together. For pod_defaults.cc and pod_validation*.cc.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "pod/pod.h"

namespace corehold {

// resources.limits or resources.requests of a container, or of a spec. Empty when there is
// none; what is no quantity is left out.
ResourceList amounts_of(const boost::json::object& owner, std::string_view list);

// What the containers of a spec request at the same time at the most, by resource.
ResourceList requested_together(const boost::json::object& spec);

bool is_hugepages(std::string_view resource);
// cpu, memory, hugepages-*: what may be given for a pod as a whole.
bool is_pod_level_resource(std::string_view resource);

}  // namespace corehold
