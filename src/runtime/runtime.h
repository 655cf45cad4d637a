// SPDX-License-Identifier: Apache-2.0
//
// The seam between the node and its container runtimes. A Placer puts containers on CPUs,
// whichever program runs them. A Runner runs them too. Neither decides anything. Calls give
// their result to a callback, at once or later on the same loop; the order of calls for one
// container is kept. What happens by itself goes to RuntimeEvents.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "container/ask.h"
#include "container/container_exit.h"
#include "container/placement.h"
#include "container/seen_container.h"
#include "pod/container_ref.h"
#include "pod/pod.h"

namespace corehold {

// What keeps containers on their CPUs.
enum class ConfinedBy {
  kCgroupV2,
  kCgroupV1,
  kAffinity,  // of each thread; a container can change it until the node looks again
  kNothing,   // containers are simulated
};

// For people: "cgroup v2", "cgroup v1", "affinity", "simulated".
std::string_view name_of(ConfinedBy confined_by);

struct Capabilities {
  ConfinedBy confined_by = ConfinedBy::kNothing;
  bool has_partitions = false;  // CPUs of a container can be an isolated partition
  std::string note{};           // what the operator should know, once; may be empty
};

template <typename T>
using Done = std::function<void(Result<T>)>;

// What a runtime tells by itself. Never called from inside a call of a Placer.
class RuntimeEvents {
 public:
  virtual ~RuntimeEvents() = default;

  // A start takes its time before the container exists: `what` is being done, such as pulling
  // an image. It is no attempt yet and may go on for as long as it takes.
  virtual void preparing(const ContainerRef& container, int attempt, const std::string& what) = 0;

  // A container runs as it was granted (asked()). A Runner answers start() instead.
  virtual void started(const ContainerRef& container, int attempt) = 0;

  // The end of a container, told once.
  virtual void exited(const ContainerRef& container, int attempt, const ContainerExit& exit) = 0;

  // All containers as they are now, whatever was told before: a runtime that was away is back.
  virtual void synchronized(std::vector<SeenContainer> seen) = 0;

  // A pod that was asked about is gone with all of its containers.
  virtual void removed(const std::string& uid) = 0;

  // The runtime waits for the answer. It may come at once.
  virtual void asked(const Ask& ask, std::function<void(Result<Grant>)> reply) = 0;
};

class Placer {
 public:
  virtual ~Placer() = default;
  virtual Capabilities capabilities() const = 0;

  // All containers, running or ended and not yet removed. From the first list() on those that
  // run are watched, whatever started them.
  virtual void list(Done<std::vector<SeenContainer>> done) = 0;

  // Done when the kernel has taken it: no thread of the container runs elsewhere. Also
  // brings back threads that have strayed. kConflict: all of it holds but the memory limit,
  // which is below what the container uses; the old limit stays, and place() may be called again.
  // kUnsupported: all of it holds, but the kernel makes no partition of the CPUs.
  virtual void place(const ContainerRef& container, const Placement& placement,
                     Done<void> done) = 0;

  // Moves the shared pool: `members` are the containers in it. Done when the kernel lets none of
  // them run elsewhere; one that does not run is no error. Processes that have left a container by
  // themselves are left to list() and place(). A container that is placed or started as one of the
  // pool from now on goes where the pool is, whatever its placement says.
  virtual void place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                            Done<void> done) = 0;

  // Writes the files in which the pod's containers are told their CPUs. Done when they can be
  // read; files that say it already are left alone.
  virtual void write_podinfo(const Pod& pod, const AssignedByContainer& assigned,
                             Done<void> done) = 0;
};

// One run of one container, as the node wants it.
struct Start {
  enum class Process {
    kOfThePod,  // the container's command
    kWaiting,   // a child of a `corehold run` client, which waits to be let go
  };
  ContainerRef container{};
  int attempt = 0;
  std::shared_ptr<const Pod> pod{};  // shared with the runtime, which keeps it
  Process process = Process::kOfThePod;
  Placement placement{};
};

struct Started {
  std::chrono::milliseconds at{};  // since the Unix epoch
};

class Runner : public Placer {
 public:
  // What this runtime cannot run of a pod, as "field path: what is wrong"; empty: it can run it. A
  // pod with such mistakes is refused when it is created.
  virtual std::vector<std::string> mistakes(const Pod& pod) const = 0;

  // Makes what the pod needs (volumes, directories) and runs the container. Done when the
  // container is confined and runs. What an earlier attempt left is replaced.
  // REQUIRES: start.pod is not null.
  virtual void start(const Start& start, Done<Started> done) = 0;

  // Asks the container to end and kills it when `grace` is over, again and again until it is
  // gone; exited() tells that. Asking again with less time shortens it, with more changes nothing.
  // Done when the container has been asked. A container that does not run is no error.
  virtual void stop(const ContainerRef& container, std::chrono::milliseconds grace,
                    Done<void> done) = 0;

  // Forgets a container that has ended, cgroup included. An unknown one is no error. kConflict:
  // it runs, or runs again.
  virtual void remove(const ContainerRef& container, Done<void> done) = 0;

  // Removes the files of a pod: volumes, podinfo, logs. Unknown ones are no error.
  virtual void remove_pod(const std::string& uid, Done<void> done) = 0;
};

}  // namespace corehold
