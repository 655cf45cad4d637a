// SPDX-License-Identifier: Apache-2.0
//
// What a pod may say: the rules of a Kubernetes API server for what it could not run, in its
// order and with its texts. Rules for scheduling among several nodes (affinity, spreading)
// and for volumes of clouds are not here: one node has no use for either.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "api/field_errors.h"
#include "api/pod/pod_rules.h"

namespace corehold {

// metadata and spec. REQUIRES: a Pod, canonical (typed_reader.h), with defaults.
void check_pod(const boost::json::object& pod, const PodRules& rules, FieldErrors& errors);

// What is accepted and yet hardly meant, for Warning headers.
std::vector<std::string> pod_warnings(const boost::json::object& pod);

}  // namespace corehold
