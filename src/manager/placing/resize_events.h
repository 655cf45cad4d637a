// SPDX-License-Identifier: Apache-2.0
//
// What is told and counted of resizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "manager/placing/placing_turn.h"

namespace corehold {

using ResourcesByContainer = std::map<std::string, Resources>;

// The resources of the pod, as the kubelet writes them in its events.
std::string told_of(std::uint64_t generation, const Pod& pod, std::string_view error = {});

// Says why the resize under way does not get on: at the container, or "" for the pod's files. It
// is tried again, and shown until that has succeeded. Nothing, where none is under way.
void report_resize_error(PlacingTurn& turn, const ContainerRef& ref, const std::string& message);
void clear_resize_error(PlacedPod& pod, const std::string& container);

// Counts what is asked of containers that are as in `now`.
void count_requested(const Turn& turn, const ResourcesByContainer& wanted, const Pod& now);

}  // namespace corehold
