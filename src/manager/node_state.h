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
#include <string>
#include <vector>

#include "manager/time.h"
#include "pod/container_ref.h"
#include "pod/pod.h"
#include "policy/admission.h"

namespace corehold {

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
  bool ended = false;  // will not run again
  std::optional<Exit> last_exit{};
  WallTime started_at{};  // of the attempt that runs; zero: none

  bool operator==(const ContainerRecord&) const = default;
};

// What the store keeps of one pod. record_json.h has its bytes.
struct PodRecord {
  Pod pod{};
  Source source = Source::kApi;
  std::uint64_t sequence = 0;  // in the order of creation
  WallTime created_at{};
  WallTime deleted_at{};         // when its deletion was asked for; zero: it was not
  std::chrono::seconds grace{};  // between being asked to stop and being killed
  WallTime started_at{};         // when it was admitted; zero: not yet
  std::map<std::string, ContainerRecord> containers{};  // by name
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

struct ContainerState {
  Stage stage = Stage::kIdle;
  // Where it may run: what the runtime has confirmed and, as long as an answer is
  // outstanding, what it has been asked for as well.
  CpuSet confirmed{};
  std::optional<CpuSet> asked{};
  bool terminating = false;  // has been asked to stop
  int failures = 0;          // in a row, of what is being tried
  bool backing_off = false;  // a timer will say when to try again

  bool operator==(const ContainerState&) const = default;
};

struct PodState {
  PodRecord record{};
  bool saved = false;                                  // the store has this record
  bool saving = false;                                 // the store has been asked to take it
  bool admitted = false;                               // holds what it needs
  bool told = false;                                   // its podinfo files are in place
  std::map<std::string, ContainerState> containers{};  // by name

  bool operator==(const PodState&) const = default;
};

struct NodeState {
  Bookings bookings{};
  CpuSet offline{};                        // CPUs of the machine that cannot run anybody now
  std::map<std::string, PodState> pods{};  // by UID
  std::uint64_t revision = 0;              // of bookings.cpus
  std::uint64_t saved_revision = 0;        // the checkpoint has this one
  std::uint64_t next_sequence = 1;
};

// The CPUs a container may be running on.
CpuSet may_run_on(const ContainerState& container);

}  // namespace corehold
