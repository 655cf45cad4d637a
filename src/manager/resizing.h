// SPDX-License-Identifier: Apache-2.0
//
// Resizes of running pods (policy/resize.h decides): the wish is stored, then decided on
// as a whole; what was accepted is made durable before it is acted upon, and is over when
// every container runs with what it was granted.
//
//     wish -> decided -> CPUs that are free are booked, checkpoint saved -> begun
//          -> those that shrink are told, then leave -> their CPUs go to those that grow
//          -> complete
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_resize(Turn& turn, const ResizePod& command);

// Starts the delay of every shrink that has been told and not been delayed.
void delay_shrinks(Turn& turn);
void on_delay_timer(Turn& turn, const ContainerRef& ref);

// Takes CPUs back that containers have left after they were told to. Not while the
// checkpoint is being written.
void finish_shrinks(Turn& turn);

// Decides on every wish that may be granted now: by priority, QoS class and waiting time;
// one that has to wait does not keep the next. Not while the checkpoint is being written.
void decide_resizes(Turn& turn);

// What was accepted is durable.
void begin_resizes(Turn& turn);
// It could not be made durable: as if it had not been decided.
void withdraw_resizes(Turn& turn);

// Ends the resizes of which nothing is left to do.
void complete_resizes(Turn& turn);

// Nothing is left of the pod that could be resized. What it asked for last stays on record.
void drop_resize(PodState& pod);

// Sets the pod back to an earlier wish, where what was granted since is none any more.
void set_wish(PodRecord& record, std::optional<ResizeWish> wish);

}  // namespace corehold
