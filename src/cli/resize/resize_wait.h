// SPDX-License-Identifier: Apache-2.0
//
// Follows a resize that has been asked for and tells how it goes: a countdown while CPUs are
// about to leave, on a terminal in one line that changes. An agent that goes away is waited for.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "api/own/cpu_map.h"
#include "cli/client/agent_client.h"
#include "cli/resize/resize_progress.h"

namespace corehold {

struct AskedResize {
  PodName pod{};
  std::string uid{};
  std::vector<WantedAmount> wanted{};
  std::string undo{};  // the words that would ask for what it has
};

// Until it is done, cannot be, or the time is over; 0: as long as it takes, but no more than a
// minute for an agent that is away. The exit code; trouble has been told.
int wait_for_resize(const AgentClient& client, const AskedResize& resize,
                    std::chrono::seconds timeout);

// What the node has said already, for a command without --wait.
int tell_resize(const AskedResize& resize, const ResizeProgress& first);

// "main has 2-5", and what of it leaves when; "": nobody has CPUs of its own.
std::string holdings_text(const CpuMap& map, const AskedResize& resize,
                          std::chrono::milliseconds now);

}  // namespace corehold
