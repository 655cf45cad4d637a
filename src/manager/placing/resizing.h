// SPDX-License-Identifier: Apache-2.0
//
// Resizes of running pods (policy/resize/resize.h decides): the wish is stored, then decided on
// as a whole; what was accepted is made durable before it is acted upon (resize_course.h),
// and is over when every container runs with what it was granted.
//
//     wish -> decided -> CPUs that are free are booked, checkpoint saved -> begun
//          -> those that shrink are told, then leave -> their CPUs go to those that grow
//          -> complete
#pragma once

#include "manager/placing/placing_turn.h"

namespace corehold {

// Decides on every wish of these pods that may be granted now: by priority, QoS class and waiting
// time; a wish that has to wait does not keep the next. Not while the checkpoint is being written.
void decide_resizes(PlacingTurn& turn, const std::set<std::string>& uids);

// What was accepted is durable.
void begin_resizes(PlacingTurn& turn);
// It could not be made durable: as if it had not been decided.
void withdraw_resizes(PlacingTurn& turn);

// Nothing is left of the pod that could be resized. What it asked for last stays on record.
void drop_resize(PlacingTurn& turn, PlacedPod& pod);

// Whether a resize of the pod is to be decided, now or when there is room.
bool has_undecided_resize(const PlacingState& placing, const PlacedPod& pod);

// The wish without what was granted already; no value: nothing is left of it.
std::optional<ResizeWish> open_wish(const Pod& granted, std::optional<ResizeWish> wish);

}  // namespace corehold
