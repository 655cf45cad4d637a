// SPDX-License-Identifier: Apache-2.0
//
// Why a pod has its QoS class and a container exclusive CPUs or none, in words. The
// answers themselves are those of pod/qos.h.
#pragma once

#include <string>

#include "pod/pod.h"
#include "pod/qos.h"

namespace corehold {

// "container db has no memory limit" and the like: the first reason there is.
std::string qos_reason(const Pod& pod, const PodGates& gates);

// "the pod is Guaranteed and cpu 4 is a whole number", "cpu 1500m is not a whole
// number". REQUIRES: `container` is one of the pod's.
std::string entitlement(const Pod& pod, const Container& container, const PodGates& gates);

}  // namespace corehold
