// SPDX-License-Identifier: Apache-2.0
//
// What is probably not meant in a pod that the agent takes nevertheless.
#pragma once

#include <string>
#include <vector>

#include "pod/pod.h"

namespace corehold {

// As "field path: what is wrong", in the order of the fields: fields that Kubernetes does
// not have, with the one that was probably meant; fields that this node does not honour;
// and why a pod that asks for whole CPUs shares them. Empty for most pods.
std::vector<std::string> warnings_of(const Pod& pod);

}  // namespace corehold
