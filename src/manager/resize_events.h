// SPDX-License-Identifier: Apache-2.0
//
// What is told and counted of resizes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "manager/turn.h"

namespace corehold {

using ResourcesByContainer = std::map<std::string, Resources>;

// The resources of the pod, as the kubelet writes them in its events.
std::string told_of(const PodRecord& record, const Pod& pod, std::string_view error = {});

// Says why the resize under way does not get on: at the container, or "" for the pod's files. It
// is tried again, and shown until that has succeeded. Nothing, where none is under way.
void report_resize_error(Turn& turn, const ContainerRef& ref, const std::string& message);
void clear_resize_error(PodState& pod, const std::string& container);

// Counts what is asked of containers that are as in `now`.
void count_requested(Turn& turn, const ResourcesByContainer& wanted, const Pod& now);

}  // namespace corehold
