// SPDX-License-Identifier: Apache-2.0
//
// Who descends from a container's keeper and is of the container. Not everybody who descends
// is: a client of `corehold run` may have had children before, and a command may be a client
// itself, whose children are of another container then.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "runtime/confinement.h"

namespace corehold {

// The processes that a neighbour's place holds.
using MembersOf = std::function<Result<std::set<pid_t>>(const Neighbour&)>;

// Empty when the keeper has gone. `members_of` is asked about neighbours without a keeper:
// what they leave comes to the keepers around them, and is being killed.
std::vector<pid_t> family_of(const Body& body, const MembersOf& members_of);

// What a client has of its own before `attached` becomes a container: its other children and
// all that descends from them.
std::vector<ProcessId> others_of(pid_t client, pid_t attached);

}  // namespace corehold
