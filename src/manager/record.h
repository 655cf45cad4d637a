// SPDX-License-Identifier: Apache-2.0
//
// PodRecord: what the store keeps of a pod; record_json.h has its bytes. The running half owns it.
// What the placing half decides of a pod and must survive the agent (granted resources, a wished
// resize, memory and devices) is copied into it whenever it changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "container/container_exit.h"
#include "hints/devices.h"
#include "hints/memory.h"
#include "manager/time.h"
#include "pod/pod.h"

namespace corehold {

// The request that an answer belongs to; 0: nobody waits for an answer.
using RequestId = std::uint64_t;

// Where the pod comes from, and so what becomes of it when it does not fit.
enum class Source {
  kApi,         // waits until it fits
  kStatic,      // a file: fails with the kubelet's reason
  kRun,         // `corehold run`: fails; ends with the command that brought it
  kRunWaiting,  // `corehold run --wait`: waits
};

// What the store keeps of one container.
struct ContainerRecord {
  int attempt = 0;     // runs started so far are attempts 0 to this one
  int exits = 0;       // attempts whose end is on record: all before this one; the next to run
  int began = 0;       // the attempt with which the pod last started over
  bool ended = false;  // will not run again
  std::optional<ContainerExit> last_exit{};
  WallTime started_at{};  // of the attempt that runs; zero: none
  // While a resize of the container is under way: the resources that it was run with before, and
  // still is.
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

struct PodRecord {
  Pod pod{};  // with the resources that it has been granted
  std::optional<ResizeWish> wish{};
  WallTime resize_began_at{};  // the resize under way was accepted then; zero: there is none
  Source source = Source::kApi;
  std::uint64_t sequence = 0;    // in the order of creation
  std::uint64_t generation = 1;  // of its spec
  WallTime created_at{};
  WallTime deleted_at{};         // when its deletion was asked for; zero: it was not
  std::chrono::seconds grace{};  // between being asked to stop and being killed
  WallTime started_at{};         // when it was admitted, or refused for good; zero: not yet
  std::map<std::string, ContainerRecord> containers{};  // by name
  RestartAll restart_all{};
  // The memory and devices that the pod holds, to book them again after a restart.
  std::map<std::string, MemoryHolding> memory{};   // by container
  std::map<std::string, DeviceHolding> devices{};  // by container
  std::string reason{};  // why it waits ("Unschedulable"), or has failed ("OutOfcpu", ...)
  std::string message{};
  bool failed = false;  // refused for good

  bool operator==(const PodRecord&) const = default;
};

// The pod `granted` as it is wished for: what was granted, but for what the wish is to change.
Pod wanted_pod(Pod granted, const std::optional<ResizeWish>& wish);
inline Pod wanted_pod(const PodRecord& record) { return wanted_pod(record.pod, record.wish); }

// The resources that differ in `to`; "" for the pod itself. REQUIRES: the pods have the same
// containers.
std::map<std::string, Resources> changes(const Pod& from, const Pod& to);

// `to` asks for the resources of `from`. REQUIRES: the pods have the same containers.
void copy_resources(const Pod& from, Pod& to);

// Whether a resize was accepted and is not complete.
bool is_resizing(const PodRecord& record);

}  // namespace corehold
