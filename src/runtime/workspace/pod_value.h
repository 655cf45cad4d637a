// SPDX-License-Identifier: Apache-2.0
//
// What a pod says of itself to its containers (the downward API): fields and amounts as
// text, exactly as a kubelet writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pod/pod.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/pod_spec.h"
#include "runtime/workspace/podinfo.h"

namespace corehold {

enum class ValueUse { kEnvironment, kVolume };

// Why a field or a resource cannot be asked for there; "" when it can.
std::string problem_with_field(std::string_view field, ValueUse use);
std::string problem_with_resource(std::string_view resource, ValueUse use);

// The text. REQUIRES: there is no problem with it. What the pod does not have is "".
std::string text_of(const PodValue& value, const Pod& pod, const LaunchContext& context,
                    const AssignedByContainer& assigned);

}  // namespace corehold
