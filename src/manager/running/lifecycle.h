// SPDX-License-Identifier: Apache-2.0
//
// Containers of admitted pods: starting them in their order, what becomes of them when
// they end, and stopping them.
#pragma once

#include "manager/command.h"
#include "manager/running/running_turn.h"

namespace corehold {

void on_started(RunningTurn& turn, const ContainerStarted& command);
void on_start_failed(RunningTurn& turn, const StartFailed& command);
void on_exited(RunningTurn& turn, const ContainerExited& command);
void on_restart_timer(RunningTurn& turn, const ContainerRef& ref);

// Has the container stopped, with its time to do so by itself, to be started again at once:
// it was resized and its resizePolicy asks for that.
void restart_resized(RunningTurn& turn, const ContainerRef& ref);

// The container's present run has ended: on record, restarted later or ended for good.
// REQUIRES: the container is one of the pod's.
void record_exit(RunningTurn& turn, const ContainerRef& ref, ContainerExit exit);
// Nobody knows how it ended.
ContainerExit unknown_exit();

// A pod of which all containers have stopped to be restarted starts over.
void start_over(RunningTurn& turn, const std::string& uid, RunPod& pod);
void start_containers(RunningTurn& turn, const std::string& uid, RunPod& pod);
void stop_containers(RunningTurn& turn, const std::string& uid, RunPod& pod);
// Has the runtime forget containers that have ended for good, once that is on record.
void remove_ended(RunningTurn& turn, const std::string& uid, RunPod& pod);

}  // namespace corehold
