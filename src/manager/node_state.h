// SPDX-License-Identifier: Apache-2.0
//
// NodeState: all that the manager knows: who holds what, which pods there are and how far
// each container has got. A value, changed only by step(). What must survive the agent is
// in State (the checkpoint) and in PodRecord (the store); the rest is found again by
// recovery.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/time.h"
#include "pod/container_ref.h"
#include "pod/pod.h"
#include "policy/admission.h"
#include "policy/resize.h"

namespace corehold {

// Who waits for an answer; 0: nobody.
using RequestId = std::uint64_t;

// Who brought the pod, and so what becomes of it when it does not fit.
enum class Source {
  kApi,         // waits until it fits
  kStatic,      // a file: fails with the kubelet's reason
  kRun,         // `corehold run`: fails; ends with the command that brought it
  kRunWaiting,  // `corehold run --wait`: waits
};

// How a container ended.
struct Exit {
  int code = 0;           // as a shell says it: 128 + signal when one ended it
  int signal = 0;         // 0: it ended by itself
  std::string reason{};   // "Completed", "Error", "ContainerStatusUnknown"
  std::string message{};  // for people; may be empty
  WallTime started_at{};
  WallTime finished_at{};

  bool operator==(const Exit&) const = default;
};

// What the store keeps of one container.
struct ContainerRecord {
  int attempt = 0;     // runs started so far are attempts 0 to this one
  int exits = 0;       // attempts whose end is on record: all before this one; the next to run
  int began = 0;       // the attempt with which the pod last started over
  bool ended = false;  // will not run again
  std::optional<Exit> last_exit{};
  WallTime started_at{};  // of the attempt that runs; zero: none
  // While a resize of it is under way: what it was run with before, and still is.
  std::optional<Resources> actual{};

  bool operator==(const ContainerRecord&) const = default;
};

// A resize that was asked for and is not accepted.
struct ResizeWish {
  // By container, those that are to change; "": those of the pod.
  std::map<std::string, Resources> resources{};
  WallTime since{};

  bool operator==(const ResizeWish&) const = default;
};

// A restart of all containers of a pod, because a rule of one of them asked for it: all are
// stopped, then the pod starts over.
struct RestartAll {
  bool under_way = false;  // until all have stopped
  WallTime since{};        // that it is, or is not; zero: there was none yet

  bool operator==(const RestartAll&) const = default;
};

// What the store keeps of one pod. record_json.h has its bytes.
struct PodRecord {
  Pod pod{};  // with the resources that it has been granted
  std::optional<ResizeWish> wish{};
  WallTime resize_began_at{};  // the one under way was accepted then; zero: there is none
  Source source = Source::kApi;
  std::uint64_t sequence = 0;    // in the order of creation
  std::uint64_t generation = 1;  // of its spec
  WallTime created_at{};
  WallTime deleted_at{};         // when its deletion was asked for; zero: it was not
  std::chrono::seconds grace{};  // between being asked to stop and being killed
  WallTime started_at{};         // when it was admitted, or refused for good; zero: not yet
  std::map<std::string, ContainerRecord> containers{};  // by name
  RestartAll restart_all{};
  // The memory and devices it holds, to book them again after a restart.
  std::map<std::string, MemoryHolding> memory{};   // by container
  std::map<std::string, DeviceHolding> devices{};  // by container
  std::string reason{};  // why it waits ("Unschedulable"), or has failed ("OutOfcpu", ...)
  std::string message{};
  bool failed = false;  // refused for good

  bool operator==(const PodRecord&) const = default;
};

// How far a container is with the runtime.
enum class Stage {
  kIdle,      // no process: not yet, between two runs, or for good
  kStarting,  // the runtime has been asked to start it
  kRunning,
};

// How much a container counts where it runs.
struct Terms {
  int cpu_shares = 2;             // as cgroup v1 counts them: 1024 for one CPU
  std::int64_t quota = 0;         // thousandths of a CPU; 0: none
  std::int64_t memory_limit = 0;  // bytes; 0: none

  bool operator==(const Terms&) const = default;
};

// A shrink of a container, from the decision until its CPUs are given up.
struct ShrinkState {
  CpuSet after{};  // what it keeps
  SteadyTime decided_at{};
  std::optional<SteadyTime> told_at{};  // its files say so since then
  std::chrono::milliseconds delay{};    // of which that is the beginning
  bool is_due = false;                  // which is over

  bool operator==(const ShrinkState&) const = default;
};

// CPUs that the files of a container have ceased to list.
struct UnlistedCpus {
  CpuSet cpus{};
  SteadyTime at{};
  std::chrono::milliseconds delay{};  // that the container had a right to

  bool operator==(const UnlistedCpus&) const = default;
};

// What a container was told and where it runs, for taking.h: nothing is decided by it.
struct TakingState {
  CpuSet own{};  // its own CPUs, as far as it was put there
  // What its files may say; none: this agent has not written any.
  std::optional<CpuSet> listed{};
  std::vector<UnlistedCpus> unlisted{};
  SteadyTime asked_at{};  // when the runtime was last asked to set its CPUs
  CpuSet offline{};       // then

  bool operator==(const TakingState&) const = default;
};

struct ContainerState {
  Stage stage = Stage::kIdle;
  // Where it may run: what the runtime has confirmed and, as long as an answer is
  // outstanding, what it has been asked for as well.
  CpuSet confirmed{};
  std::optional<CpuSet> asked{};
  bool terminating = false;  // has been asked to stop
  int failures = 0;          // in a row, of what is being tried
  bool backing_off = false;  // a timer will say when to try again
  int exclusive = 0;         // CPUs of its own that it is entitled to; 0: it shares
  // Where else it was last seen, when that is not where it was put; it has to go back.
  std::optional<CpuSet> strayed{};
  int cpuset_failures = 0;    // in a row, of setting its CPUs
  bool cpuset_waits = false;  // a timer will say when to set them again
  // What else the runtime has been told; no value: that is not certain, and it will be again.
  std::optional<Terms> terms{};
  std::optional<Terms> asked_terms{};
  std::optional<ShrinkState> shrink{};
  TakingState taking{};
  bool restarting = false;  // is stopped to be started again, resized
  bool removed = true;      // the runtime keeps nothing of it
  bool touched = false;     // something was done to it since the runtime was last asked

  bool operator==(const ContainerState&) const = default;
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
  std::uint64_t texts = 0;  // of its PodVersion

  bool operator==(const UnsavedEdit&) const = default;
};

// Somebody who waits until the pod's record is in the store.
struct SaveWaiter {
  RequestId request = 0;
  bool deletes = false;  // else it creates

  bool operator==(const SaveWaiter&) const = default;
};

// The CPUs that a container is told are its own.
struct AssignedCpus {
  CpuSet cpus{};  // empty: it has none of its own
  NodeSet mems{};

  bool operator==(const AssignedCpus&) const = default;
};
using AssignedByContainer = std::map<std::string, AssignedCpus>;

// How often what a pod says of itself has changed in this life: labels and the like, and the
// amounts that it was granted.
struct PodVersion {
  std::uint64_t texts = 0;
  std::uint64_t grants = 0;

  bool operator==(const PodVersion&) const = default;
};

// Where the pod is with being resized, beyond what the record says.
struct ResizeState {
  // Accepted and not complete: who shrinks and who grows, those that have still to.
  std::optional<ResizeDecision> under_way{};
  // Why the wish is not granted, or what was accepted cannot go on; no value: it was not
  // asked yet, or there is nothing.
  std::optional<ResizeVerdict> verdict{};
  std::string message{};
  // What fails on the way and is tried again, by container; "": the pod's files.
  std::map<std::string, std::string> errors{};
  std::uint64_t tried = 0;              // the NodeState::freed of the last try
  bool was_deferred = false;            // the wish, at least once
  std::optional<SteadyTime> started{};  // when it was accepted

  bool operator==(const ResizeState&) const = default;
};

struct PodState {
  PodRecord record{};
  bool saved = false;                                  // the store has this record
  bool saving = false;                                 // the store has been asked to take it
  bool admitted = false;                               // holds what it needs
  std::optional<AssignedByContainer> told{};           // what its podinfo files say; none yet
  PodVersion told_of{};                                // what else they say, of the pod
  std::map<std::string, ContainerState> containers{};  // by name
  ResizeState resize{};

  bool in_store = false;              // the store has it, be it in an older version
  bool changed = false;               // the record has changed since the store was last asked
  bool save_waits = false;            // a timer will say when to ask the store again
  int save_failures = 0;              // in a row
  Deletion stored_deletion{};         // what the store has, and so what counts
  Deletion sent_deletion{};           // what it will be once the store has answered
  std::optional<UnsavedEdit> edit{};  // taken back if the store refuses it
  std::uint64_t edits = 0;            // how often it was edited in this life
  PodVersion version{};
  std::vector<SaveWaiter> waiters{};   // for the next save
  std::vector<SaveWaiter> answered{};  // by the save under way
  RequestId run_request = 0;           // of a kRun pod: waits for the admission
  bool forgetting = false;             // the store has been asked to forget it

  bool features_checked = false;                 // whether the node has all that it needs
  std::uint64_t tried = 0;                       // the NodeState::freed of the last try to admit it
  std::optional<AssignedByContainer> telling{};  // its podinfo files are being written
  PodVersion telling_of{};
  bool tell_waits = false;  // a timer will say when to write them again
  int tell_failures = 0;    // in a row

  std::optional<SteadyTime> stopping_since{};  // its containers are being stopped
  std::chrono::seconds kill_after{};           // what the timer was set to
  bool killing = false;                        // the time to stop by themselves is over

  bool operator==(const PodState&) const = default;
};

// A resize that begins once the checkpoint is saved.
struct AcceptedResize {
  ResizeDecision decision{};
  std::map<std::string, Resources> resources{};  // by container, those that change
};

struct NodeState {
  Bookings bookings{};
  CpuSet offline{};                        // CPUs of the machine that cannot run anybody now
  std::map<std::string, PodState> pods{};  // by UID
  std::uint64_t revision = 0;              // of bookings.cpus
  std::uint64_t saved_revision = 0;        // the checkpoint has this one; 0: of another life
  std::uint64_t next_sequence = 1;

  // What the checkpoint says as far as is known: everything that is done on CPUs goes by
  // this, never by bookings, which may not be durable yet.
  State durable{};
  bool persisting = false;        // the checkpoint is being written; bookings do not change
  bool checkpoint_waits = false;  // a timer will say when to write it again
  int checkpoint_failures = 0;    // in a row
  // Pods that are admitted or resized once the checkpoint is saved, and the bookings without
  // them.
  std::vector<std::string> admitting{};
  std::map<std::string, AcceptedResize> resizing{};  // by UID
  std::optional<Bookings> before_admitting{};
  std::uint64_t freed = 1;  // grows whenever one that waits may be answered otherwise

  bool cordoned = false;  // pods of the API that wait go on waiting

  bool observing = false;                  // the runtime has been asked what there is
  std::set<std::string> gone_meanwhile{};  // pods forgotten since
};

// The CPUs a container may be running on.
CpuSet may_run_on(const ContainerState& container);

// The pod as it is wished for: what was granted, but for what a resize is to change.
Pod wanted_pod(const PodRecord& record);

// Whether a resize was accepted and is not complete.
bool is_resizing(const PodRecord& record);

}  // namespace corehold
