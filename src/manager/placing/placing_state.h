// SPDX-License-Identifier: Apache-2.0
//
// PlacingState: the placing half of a node: which containers hold which CPUs, what the checkpoint
// says of that, where the kernel has every container, what their files tell them, and how far each
// resize is. It knows containers, not how they come to run: whatever runs them, the running half
// or a runtime of somebody else, reports through placing/placing.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "container/placement.h"
#include "isolation/change.h"
#include "manager/attempt.h"
#include "manager/placing/occupancy.h"
#include "manager/record.h"
#include "manager/time.h"
#include "pod/container_ref.h"
#include "pod/pod.h"
#include "policy/admission.h"
#include "policy/resize/resize.h"

namespace corehold {

// Whether the machine has processes of the container.
enum class Presence {
  kAbsent,    // none
  kStarting,  // the container may appear any moment on the CPUs that it was given for its start
  kRunning,
};

// A shrink of a container, from the decision until its CPUs are given up.
struct ShrinkState {
  CpuSet after{};  // what it keeps
  SteadyTime decided_at{};
  std::optional<SteadyTime> told_at{};  // its files say so since then
  std::chrono::milliseconds delay{};    // counted from told_at
  bool is_due = false;                  // the delay is over

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

struct PlacedContainer {
  Presence presence = Presence::kAbsent;
  bool is_done = false;  // will not run again
  int exclusive = 0;     // CPUs of its own that the container is entitled to; 0: it shares
  // It is among the containers that SharedPool places together. Then the three below are unused,
  // but for a container that is set by itself.
  bool is_in_pool = false;
  // Where the runtime has confirmed the container to be and, while an answer is outstanding, where
  // it was asked to put the container.
  CpuSet confirmed{};
  std::optional<CpuSet> asked{};
  CpuSet unsure{};  // of `confirmed`: CPUs of a failed attempt, which may or may not be there
  // Others may be on `confirmed` too: the container was found there by this life of the agent, or
  // an attempt to put it into the pool has failed.
  bool shares_confirmed = false;
  Attempt setting{};  // of its CPUs and limits
  // Where else the container was last seen, when that is not where it was put: it has to go back.
  std::optional<CpuSet> strayed{};
  // What else the runtime has been told; no value: that is not certain, and it will be told again.
  std::optional<Limits> limits{};
  std::optional<Limits> asked_limits{};
  // The kernel has made no partition of its CPUs when they were last set: it has a plain cpuset
  // until they are set again.
  bool is_partition_refused = false;
  // While a resize of the container is under way: the resources that it is run with.
  std::optional<Resources> actual{};
  std::optional<ShrinkState> shrink{};
  TakingState taking{};
  std::uint64_t changed = 0;  // the PlacingState::turn that last changed it

  bool operator==(const PlacedContainer&) const = default;
};

// How often what a pod says of itself has changed in this life of the agent: labels and the like,
// and the amounts that it was granted.
struct PodVersion {
  std::uint64_t texts = 0;
  std::uint64_t grants = 0;

  bool operator==(const PodVersion&) const = default;
};

// The files that tell a pod's containers which CPUs are their own.
struct FilesState {
  std::optional<AssignedByContainer> told{};  // what they say; no value: none, or not known
  PodVersion told_of{};                       // what else they say, of the pod
  Attempt writing{};
  std::optional<AssignedByContainer> telling{};  // what is being written
  PodVersion telling_of{};

  bool operator==(const FilesState&) const = default;
};

// How far the pod is with being resized.
struct ResizeState {
  std::optional<ResizeWish> wish{};  // asked for and not accepted
  // Accepted and not complete: the containers that have still to shrink or grow.
  std::optional<ResizeDecision> under_way{};
  WallTime began_at{};  // the resize under way was accepted then; zero: there is none
  // Why the wish is not granted, or what was accepted cannot go on; no value: the wish was not
  // decided on yet, or there is nothing to say.
  std::optional<ResizeVerdict> verdict{};
  std::string message{};
  // What fails on the way and is tried again, by container; "": the pod's files.
  std::map<std::string, std::string> errors{};
  std::uint64_t tried = 0;              // the PlacingState::room of the last decision
  bool was_deferred = false;            // the wish, at least once
  std::optional<SteadyTime> started{};  // when it was accepted

  bool operator==(const ResizeState&) const = default;
};

// How far a pod is with its CPUs, memory and devices.
enum class Standing {
  kWaiting,   // holds nothing, or not all that it needs
  kBooked,    // booked; the checkpoint that says so is not saved yet
  kAdmitted,  // holds what it needs, and that is durable
};

// What is to become of a pod.
enum class Course {
  kStaying,
  kStopping,  // nothing of it starts, is resized or is told any more
  kOver,      // and nothing of it runs: what it holds is given back
};

// What becomes of a pod that does not fit.
enum class Patience {
  kWaits,          // for room
  kRefused,        // unless something of it runs, then it waits
  kRefusedAtOnce,  // also when the checkpoint cannot be saved
};

struct PlacedPod {
  Pod pod{};                     // with the resources that it has been granted
  std::uint64_t sequence = 0;    // in the order of creation
  std::uint64_t generation = 1;  // of its spec
  Patience patience = Patience::kWaits;
  bool obeys_cordon = false;  // a new pod waits while the node is cordoned
  bool is_new = true;         // was never admitted
  bool is_firm = false;       // what was told of the pod is durable, so that it can be acted upon
  Course course = Course::kStaying;
  Standing standing = Standing::kWaiting;
  std::string waits_for{};  // why the pod is not admitted, as it was last said
  std::uint64_t tried = 0;  // the PlacingState::room of the last try to admit it
  std::map<std::string, PlacedContainer> containers{};  // by name
  FilesState files{};
  PodVersion version{};
  ResizeState resize{};

  bool operator==(const PlacedPod&) const = default;
};

// The containers without CPUs of their own: the runtime places them together. A container that
// starts joins the others where they are.
struct SharedPool {
  std::set<ContainerRef> members{};   // those that run or start
  std::optional<CpuSet> confirmed{};  // where they are; no value: never set, or not known
  std::optional<CpuSet> asked{};      // where they are being put
  CpuSet possible{};                  // where they may be while `confirmed` has no value
  bool strayed = false;  // some of `possible` is where they were found, not where they were put
  Attempt setting{};
  std::set<ContainerRef> set_alone{};  // containers that are being set by themselves, to the pool
  std::uint64_t changed = 0;           // the PlacingState::turn that last changed it

  bool operator==(const SharedPool&) const = default;
};

// The CPUs that the rest of the machine is kept off: those that containers hold. Unused where
// containers are kept apart from each other alone.
struct FenceState {
  // What the last answer was about, also where it named things that stay; no value: nothing was
  // answered in this life of the agent.
  std::optional<CpuSet> confirmed{};
  std::optional<CpuSet> asked{};  // what is being done
  Attempt setting{};
  bool is_due = false;                // has to be asked for again, for what may have come since
  std::vector<Leftover> leftovers{};  // what could be kept away and is not
  std::vector<Leftover> by_nature{};  // what the kernel moves for nobody
  std::vector<std::string> displaced{};

  bool operator==(const FenceState&) const = default;
};

// A resize that begins once the checkpoint is saved.
struct AcceptedResize {
  ResizeDecision decision{};
  std::map<std::string, Resources> resources{};  // by container, those that change
};

struct PlacingState {
  Bookings bookings{};                      // changed by ledger.h alone
  CpuSet offline{};                         // CPUs of the machine that cannot run anything now
  bool cordoned = false;                    // new pods of the API go on waiting
  std::map<std::string, PlacedPod> pods{};  // by UID
  SharedPool pool{};
  FenceState fence{};
  Occupancy occupancy{};  // of the containers outside the pool, kept by touch()

  // What the checkpoint says as far as is known: everything that is done on CPUs goes by
  // this, never by bookings, which may not be durable yet.
  State durable{};
  std::uint64_t revision = 0;        // of bookings.cpus
  std::uint64_t saved_revision = 0;  // the checkpoint has this one; 0: of another life
  Attempt saving{};                  // of the checkpoint; bookings do not change meanwhile
  // Pods that are admitted or resized once the checkpoint is saved, and what the bookings said of
  // them before, in the order of the decisions.
  std::vector<std::string> admitting{};
  std::map<std::string, AcceptedResize> resizing{};  // by UID
  std::vector<std::pair<std::string, PodBooking>> unsaved_bookings{};
  std::set<std::string> unsaved{};  // pods whose CPUs have changed since the checkpoint was saved

  // Grows whenever a pod or a resize that waits may be answered otherwise: with every change of
  // the books, of what is offline and of the cordon.
  std::uint64_t room = 1;

  // Pods to look at. A turn looks at these alone, so that its cost follows what has changed.
  std::uint64_t turn = 1;
  std::set<std::string> work{};      // in this turn
  std::set<std::string> to_place{};  // whose holdings may have to change, once the books are open
  std::set<std::string>
      waiting{};  // not admitted, or with a resize to decide: looked at when `room` grows
  std::set<std::string> blocked{};  // some container waits for others to leave its CPUs
  std::uint64_t room_seen = 0;      // the `room` up to which `waiting` has been looked at
};

// The pod as it is wished for.
inline Pod wanted_pod(const PlacedPod& pod) { return wanted_pod(pod.pod, pod.resize.wish); }

// Whether a resize was accepted and is not complete.
bool is_resizing(const PlacedPod& pod);

// The CPUs that the container may be running on.
CpuSet may_run_on(const PlacingState& placing, const PlacedContainer& container);

}  // namespace corehold
