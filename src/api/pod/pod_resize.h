// SPDX-License-Identifier: Apache-2.0
//
// The resize of a pod through its subresource: what of it is taken, and which resizes are
// refused, as a Kubernetes API server decides it. Whether the CPUs can be had is not asked here.
#pragma once

#include <boost/json/object.hpp>

#include "api/field_errors.h"
#include "pod/pod.h"

namespace corehold {

// All REQUIRE pods with all their defaults, in canonical form (typed_reader.h).

// `old` with the resources of `next`, by the names of the containers, and with what of its
// metadata says which pod is meant and who wrote which fields. resizePolicy, and containers that
// `old` lacks, are taken too, so that check_pod_resize() refuses them; all else of `next` is
// dropped. May not be canonical.
boost::json::object with_resources_of(const boost::json::object& old,
                                      const boost::json::object& next);

// What may not become of `old`: other containers, amounts taken away, anything but cpu and
// memory.
void check_pod_resize(const boost::json::object& old, const boost::json::object& pod,
                      FieldErrors& errors);
// Nor another QoS class.
void check_qos_class(const Pod& old, const Pod& pod, FieldErrors& errors);

}  // namespace corehold
