// SPDX-License-Identifier: Apache-2.0
//
// RunningState: the running half of a node: the pods that this agent runs, their records in the
// store, and how far each container is with the runtime. Absent where somebody else runs the
// containers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/attempt.h"
#include "manager/record.h"
#include "manager/time.h"

namespace corehold {

// How far a container is with the runtime. docs/architecture.md draws the transitions.
enum class Stage {
  kIdle,        // no process: not yet, between two runs, or for good
  kBackingOff,  // no process, and a timer says when the next run may start
  kStarting,    // the runtime has been asked to start it
  kRunning,
  kStopping,    // runs, and the runtime has been asked to stop it
  kRestarting,  // the same, to be started again at once with other resources
};

// Whether the machine may have processes of the container.
constexpr bool is_up(Stage stage) { return stage >= Stage::kStarting; }
// Whether it certainly has.
constexpr bool is_running(Stage stage) { return stage >= Stage::kRunning; }

struct RunContainer {
  Stage stage = Stage::kIdle;
  int failures = 0;          // runs in a row that failed
  bool has_remains = false;  // the runtime keeps something of an earlier run
  SteadyTime stop_by{};      // kStopping, kRestarting: the runtime kills it then

  bool operator==(const RunContainer&) const = default;
};

// When and how a pod's deletion was asked for.
struct Deletion {
  WallTime at{};  // zero: it was not
  std::chrono::seconds grace{};

  bool operator==(const Deletion&) const = default;
};

// What a pod said of itself before an edit that the store has not confirmed.
struct UnsavedEdit {
  Pod before{};
  std::optional<ResizeWish> wish{};
  std::uint64_t generation = 0;
  bool changes_texts = false;  // labels, annotations; else only the wish

  bool operator==(const UnsavedEdit&) const = default;
};

// A request that waits until the pod's record is in the store.
struct SaveWaiter {
  RequestId request = 0;
  bool deletes = false;  // else it creates or edits

  bool operator==(const SaveWaiter&) const = default;
};

// How far the store is with the record of a pod.
struct StoreState {
  enum class Asked { kSave, kForget };
  Attempt attempt{};
  Asked asked = Asked::kSave;  // what the attempt is at
  bool changed = false;        // the record has changed since the store was last asked
  bool needs_sync = false;     // some of that must survive a power cut
  bool has_any = false;        // the store has a record of the pod, be it an older one

  bool is_saving() const { return attempt.is_asked() && asked == Asked::kSave; }
  bool is_forgetting() const { return attempt.is_asked() && asked == Asked::kForget; }
  // The store has the record as it is.
  bool is_saved() const { return !changed && !is_saving(); }

  bool operator==(const StoreState&) const = default;
};

struct RunPod {
  PodRecord record{};
  StoreState store{};
  std::map<std::string, RunContainer> containers{};  // by name

  Deletion stored_deletion{};          // what the store has, and so what counts
  Deletion sent_deletion{};            // what it will be once the store has answered
  std::optional<UnsavedEdit> edit{};   // taken back if the store refuses it
  std::uint64_t edits = 0;             // how often the pod was edited in this life of the agent
  std::vector<SaveWaiter> waiters{};   // for the next save
  std::vector<SaveWaiter> answered{};  // by the save under way
  std::optional<Error> refusal{};      // the pod could not be created: the answer of its requests
  RequestId run_request = 0;           // of a kRun pod: waits for the admission

  bool features_checked = false;  // whether the node has all the features that the pod needs
  std::optional<SteadyTime> stopping_since{};  // its containers are being stopped

  bool operator==(const RunPod&) const = default;
};

struct RunningState {
  std::map<std::string, RunPod> pods{};  // by UID
  std::uint64_t next_sequence = 1;

  // Pods to look at in this turn.
  std::set<std::string> work{};
  // Pods of which some container waits for the placing half before it can start.
  std::set<std::string> blocked{};
};

}  // namespace corehold
