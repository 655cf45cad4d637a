// SPDX-License-Identifier: Apache-2.0
//
// Confinement: how a container's processes are held together and kept on their CPUs: a
// cgroup (v2, or v1 with its cpuset, cpu and memory hierarchies), or the affinity of every thread
// where no cgroup can be written. Both the agent and the monitor use it, so it has no
// state: everything is in the kernel, or in the container's directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"
#include "runtime/runtime.h"
#include "sys/process.h"

namespace corehold {

// Another container whose keeper may descend from this one's: a `corehold run` inside a
// container, or inside another `corehold run`.
struct Neighbour {
  ContainerRef container{};
  std::string mark{};
  ProcessId keeper{};
  std::vector<ProcessId> spared{};
};

// Whose processes: those in the container's cgroup, and whoever descends from its keeper
// (the monitor, or the client of `corehold run`), which is not one of them.
struct Body {
  ContainerRef container{};
  std::string directory{};  // where the runtime keeps the container
  pid_t keeper = 0;         // 0: gone
  // What its processes have in their environment (container_mark.h).
  std::string mark{};
  // Descendants of the keeper from before, which are not of the container, nor are theirs.
  std::vector<ProcessId> spared{};
  std::vector<Neighbour> neighbours{};
};

// The mark of a pod's container.
std::string pod_mark(const ContainerRef& container);

// Where the kernel lets a container run.
struct Sight {
  CpuSet cpus{};
  bool strayed = false;  // somebody of it is outside
  std::int64_t oom_kills =
      0;  // whom the kernel has killed for want of memory, earlier attempts too

  bool operator==(const Sight&) const = default;
};

class Confinement {
 public:
  virtual ~Confinement() = default;

  virtual RuntimeAbilities abilities() const = 0;

  // What open_confinement() needs to make this one again, in another process.
  virtual boost::json::object describe() const = 0;

  // Makes the container's place where it is missing, sets the confines and brings back
  // who is outside. When it returns the kernel has taken it. kConflict: all but the memory
  // limit, of which the container uses more.
  virtual Result<void> confine(const Body& body, const Confines& confines) const = 0;

  // Takes a process in, with all its threads. REQUIRES: confine() was called.
  virtual Result<void> place(const Body& body, pid_t pid) const = 0;

  // What the kernel says. kNotFound: the container's place has gone.
  virtual Result<Sight> look(const Body& body) const = 0;

  // Sends SIGKILL to every process and says how many there were: call until it is zero.
  virtual Result<std::size_t> kill(const Body& body) const = 0;

  // Removes the container's place, and its pod's when it was the last. False: somebody is
  // still there, try again. What is not there is no error.
  virtual Result<bool> remove(const Body& body) const = 0;
};

// Where to look for cgroups. The defaults are the machine's own.
struct ConfinementOptions {
  std::string name = "corehold";  // of the top cgroup
  std::string proc = "/proc";     // "mounts" and "self/cgroup" are read there
  // A cgroup v2 below the mount point, as in /corehold.slice/corehold-pods.service, that was
  // made for containers and holds no processes: used instead of this process's own. It counts
  // only where cpusets are of v2.
  std::string cgroup{};
};

// The best that this machine lets us have: cgroup v2, v1, affinity. Makes nothing yet but
// what it takes to find out.
std::unique_ptr<Confinement> find_confinement(const ConfinementOptions& options);

// Plain affinity; `reason` says in its note why.
std::unique_ptr<Confinement> make_affinity(std::string reason);

// From what describe() gave. Fails with kCorrupt.
Result<std::unique_ptr<Confinement>> open_confinement(const boost::json::object& description);

// cpu.weight of cgroup v2 for cpu.shares of v1, as a kubelet converts them.
std::int64_t cpu_weight(std::int64_t shares);

}  // namespace corehold
