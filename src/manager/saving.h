// SPDX-License-Identifier: Apache-2.0
//
// Pods and the store: creating, saving, deleting and forgetting them, and who is
// answered when.
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_create(Turn& turn, const CreatePod& command);
void on_update(Turn& turn, const UpdatePod& command);
void on_delete(Turn& turn, const DeletePod& command);
void on_pod_saved(Turn& turn, const PodSaved& command);
void on_pod_forgotten(Turn& turn, const PodForgotten& command);

// The pod that is to be changed; null, with an answer, when it cannot be now.
PodState* find_editable(Turn& turn, const std::string& uid, RequestId request);
// The pod says of itself what `next` says, but has the resources that it was granted; taken
// back if the store refuses it. REQUIRES: they have the same containers.
void edit_pod(PodState& pod, Pod next);

// A pod as it is before anything has happened to it.
PodState new_pod(const ManagerRules& rules, PodRecord record);
// How many CPUs of its own each container is entitled to, by what it was granted.
void entitle(const ManagerRules& rules, PodState& pod);
// The record differs from what the store has.
void mark_changed(PodState& pod);

// Sends every record that has changed to the store.
void save_pods(Turn& turn);
// Forgets the pods that have finished, hold nothing any more and are not to be kept.
void forget_pods(Turn& turn);

void answer(Turn& turn, RequestId request, std::optional<Error> error);

}  // namespace corehold
