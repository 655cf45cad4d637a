// SPDX-License-Identifier: Apache-2.0
//
// The books of a node: every change of who holds which CPUs, memory and devices is made here, so
// that the revision of the checkpoint and the room for those that wait follow from the change.
#pragma once

#include <string>

#include "manager/placing/placing_turn.h"
#include "state/state_delta.h"

namespace corehold {

// CPUs of a container of the pod change hands: the checkpoint has to say so, and what waits may fit
// now.
void book(PlacingTurn& turn, const std::string& uid, const Plan& plan);

// A shrink is under way, or over: nothing that the checkpoint says.
void book_pending(PlacingTurn& turn, const std::string& uid, const Plan& plan);

// Everything that the pod holds is given back.
void release_all(PlacingTurn& turn, const std::string& uid);

// Whether a booking counts at once, because the checkpoint need not say anything new, or once the
// checkpoint is saved; if that fails take_back_bookings() undoes it.
enum class Booked { kAtOnce, kOnceSaved };
// The pod has been admitted in the books; `before` is what they said of it until then.
Booked book_admission(PlacingTurn& turn, const std::string& uid, PodBooking before);
// The CPUs that the resize takes are booked, and its shrinks are pending.
Booked book_resize(PlacingTurn& turn, const std::string& uid, const ResizeDecision& decision);

// What the books say and the checkpoint may not: everything, when this life of the manager has not
// saved it yet.
StateDelta unsaved_delta(const PlacingState& placing);
// All that was booked since the checkpoint was last saved is as before.
void take_back_bookings(PlacingTurn& turn);
// The checkpoint has the books as they are.
void keep_bookings(PlacingTurn& turn);

// Something else has changed that decides whether a pod fits: CPUs online, the cordon.
void change_room(PlacingTurn& turn);

}  // namespace corehold
