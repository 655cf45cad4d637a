// SPDX-License-Identifier: Apache-2.0
//
// The questions of a runtime that starts containers for somebody else, and their answers. It drives
// the placing half by the same commands as the running half (placing/placing_command.h).
//
//   create   granted when the pod is admitted and the checkpoint says so; refused while it has to
//            wait for room: the runtime asks again
//   start    granted when no other container can be running on the container's CPUs
//   resize   granted when the container has what was asked for; refused with the reason while it
//            has to wait for room, for its delay or for good
//
// A question that cannot be answered in ManagerRules::answer_within is refused: a runtime that has
// no answer in its own time goes on without one.
#pragma once

#include <vector>

#include "manager/command.h"
#include "manager/foreign/foreign_turn.h"

namespace corehold {

void on_asked(ForeignTurn& turn, const Asked& command);
void on_answer_timer(ForeignTurn& turn, const ContainerRef& ref);
// The container's question is void, or the answer is this error.
void refuse_question(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container,
                     Error error);

// What was decided about pods of somebody else has no record that has to be saved: it is firm at
// once. Whether there was anything.
bool confirm_notices(ForeignTurn& turn, std::vector<Notice>& notices);

// Answers the questions that can be answered by now.
void answer_questions(ForeignTurn& turn);

// The placing half is told of a new pod.
ForeignPod& claim_pod(ForeignTurn& turn, const Pod& pod);

}  // namespace corehold
