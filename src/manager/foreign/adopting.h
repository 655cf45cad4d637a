// SPDX-License-Identifier: Apache-2.0
//
// Containers of somebody else, as the runtime tells of them or as they are seen: adopted, never
// killed, and let go when the runtime has nothing of them any more.
#pragma once

#include "manager/command.h"
#include "manager/foreign/foreign_turn.h"

namespace corehold {

// The first command of every life: the runtime is connected and has told of all it has.
void on_recover_foreign(ForeignTurn& turn, const Recover& command);
// The runtime has connected anew: what it tells of is all there is.
void on_synchronized(ForeignTurn& turn, const Synchronized& command);
// What is seen of the containers; the runtime was asked in turn `since`. Pods in `gone` were
// removed meanwhile.
void on_seen(ForeignTurn& turn, const std::vector<SeenContainer>& seen, std::uint64_t since,
             const std::set<std::string>& gone);

void on_started_foreign(ForeignTurn& turn, const ContainerStarted& command);
void on_exited_foreign(ForeignTurn& turn, const ContainerExited& command);
void on_pod_removed(ForeignTurn& turn, const PodRemoved& command);

// Drops the pods that are removed and hold nothing any more; their UIDs.
std::vector<std::string> drop_removed(ForeignTurn& turn);

}  // namespace corehold
