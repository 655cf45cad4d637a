// SPDX-License-Identifier: Apache-2.0
//
// Containers of admitted pods: starting them in their order, what becomes of them when
// they end, and stopping them.
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_started(Turn& turn, const ContainerStarted& command);
void on_start_failed(Turn& turn, const StartFailed& command);
void on_exited(Turn& turn, const ContainerExited& command);
void on_kill_timer(Turn& turn, const std::string& uid);

// Has the container stopped, with its time to do so by itself, to be started again at once:
// it was resized and its resizePolicy asks for that.
void restart_resized(Turn& turn, const ContainerRef& ref, ContainerState& state);
void on_restart_timer(Turn& turn, const ContainerRef& ref);

// The container's present run has ended: on record, restarted later or ended for good.
// REQUIRES: the container is one of the pod's.
void record_exit(Turn& turn, const ContainerRef& ref, Exit exit);
// Nobody knows how it ended.
Exit unknown_exit();

// Pods of which all containers have stopped to be restarted start over.
void start_over(Turn& turn);
void start_containers(Turn& turn);
void stop_containers(Turn& turn);
// Has the runtime forget containers that have ended for good, once that is on record.
void remove_ended(Turn& turn);

}  // namespace corehold
