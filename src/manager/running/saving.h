// SPDX-License-Identifier: Apache-2.0
//
// Pods and the store: creating, editing, saving, deleting and forgetting them, and which requests
// are answered when.
#pragma once

#include "manager/command.h"
#include "manager/running/running_turn.h"

namespace corehold {

void on_create(RunningTurn& turn, const CreatePod& command);
void on_update(RunningTurn& turn, const UpdatePod& command);
void on_resize(RunningTurn& turn, const ResizePod& command);
void on_delete(RunningTurn& turn, const DeletePod& command);
// What becomes of the pod whose UID is known, when the answer of the store has come. Whether the
// pod is gone.
void on_pod_saved(RunningTurn& turn, const PodSaved& command);
enum class Forgotten { kNo, kYes };
Forgotten on_pod_forgotten(RunningTurn& turn, const PodForgotten& command);
void on_save_retry(RunningTurn& turn, const std::string& uid);

// A pod as it is before anything has happened to it: claimed in the placing half.
RunPod& add_pod(RunningTurn& turn, PodRecord record);
// The record differs from what the store has. kLazy: recovery decides the same without the change
// when nothing of the pod runs any more.
void mark_changed(RunningTurn& turn, RunPod& pod, Durability durability = Durability::kSynced);

// Sends the record to the store if it has changed.
void save_pod(RunningTurn& turn, RunPod& pod);
// Forgets the pod if it has finished, holds nothing any more and is not to be kept.
void forget_pod(RunningTurn& turn, const std::string& uid, RunPod& pod);

void answer(const Turn& turn, RequestId request, std::optional<Error> error);

}  // namespace corehold
