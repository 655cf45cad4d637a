// SPDX-License-Identifier: Apache-2.0
//
// Confinement: how a container's processes are held together and kept on their CPUs: a
// cgroup (v2, or v1 with its cpuset, cpu and memory hierarchies), or the affinity of every thread
// where no cgroup can be written. Which cgroup a container has is decided by the caller: a path
// below the top cgroup. Both the agent and the monitor use it, so it has no state: everything is
// in the kernel, or in the container's directory. All of it may take as long as a container has
// processes, and may be called by any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"
#include "runtime/live_container.h"
#include "runtime/runtime.h"
#include "sys/process/process.h"

namespace corehold {

// The CPUs that a container or a shared parent was to have last, for all threads that write them to
// the kernel: the thread that works for the container, and the one that moves the shared pool.
// Neither may undo what the other has written since; one thread for both would make every container
// wait for the slowest.
class NewestCpus {
 public:
  // From now on every write is of these. The loop says so before it queues any work that depends
  // on it; waits for no write.
  void announce(const CpuSet& cpus);
  // Calls `write` with what was announced last, or with `otherwise` where nothing was; one write
  // after the other.
  Result<void> use(const CpuSet& otherwise,
                   const std::function<Result<void>(const CpuSet&)>& write);
  // From now on nothing is written: the container's cgroup goes, or is that of its next attempt.
  // Waits for a write that is under way.
  void close();

 private:
  std::mutex writing_{};    // held while the kernel is written to, so that an older write is over
  bool is_closed_ = false;  // guarded by writing_
  std::mutex lock_{};       // of cpus_, never held for long
  std::optional<CpuSet> cpus_{};
};

// Another container whose supervisor may descend from this one's: a `corehold run` inside a
// container, or inside another `corehold run`.
struct Neighbour {
  std::string cgroup{};
  std::string mark{};
  ProcessId supervisor{};
  std::vector<ProcessId> unrelated{};
};

// The processes of a container: those in its cgroup, and those that descend from its supervisor
// (the monitor, or the client of `corehold run`). The supervisor is not one of them.
struct ContainerProcesses {
  ContainerRef ref{};    // for messages
  std::string cgroup{};  // below the top cgroup: "pods/UID/main"
  // The outermost cgroup of that path when that one has the CPUs, for all below it; "": the
  // container's cgroup has CPUs of its own. Only cgroup v2 can do that.
  std::string shared_parent{};
  // Of the shared parent, whatever a placement says; null: the placement's. Shared with the
  // threads that place containers.
  std::shared_ptr<NewestCpus> shared_cpus{};
  // Of the container, in the same way.
  std::shared_ptr<NewestCpus> own_cpus{};
  std::string directory{};  // where the runtime keeps the container's records
  pid_t supervisor = 0;     // 0: gone
  // What the processes have in their environment (container_mark.h).
  std::string mark{};
  // Descendants that the supervisor had before the container started: they are not of the
  // container, nor are their own descendants.
  std::vector<ProcessId> unrelated{};
  // May have the container itself among them. Shared by the containers of one look: there may be
  // thousands of both.
  std::shared_ptr<const std::vector<Neighbour>> neighbours{};
};

// Calls `write` with the CPUs that the container is to have by what was announced last, and with
// these where nothing was.
Result<void> write_newest(const ContainerProcesses& container, const CpuSet& cpus,
                          const std::function<Result<void>(const CpuSet&)>& write);

// The mark of a pod's container.
std::string pod_mark(const ContainerRef& container);

// What the kernel says about a container.
struct KernelView {
  CpuSet cpus{};         // where its processes may run
  bool strayed = false;  // some of its processes or threads are outside its cgroup or its CPUs
  std::optional<std::string> partition{};  // SeenContainer::partition
  // Processes that the kernel has killed for want of memory, in earlier attempts as well.
  std::int64_t oom_kills = 0;

  bool operator==(const KernelView&) const = default;
};

// Cgroups without processes that nobody knows.
enum class EmptyCgroups {
  kRemoved,    // by a caller that starts no container meanwhile
  kLeftAlone,  // and not told
};

class Confinement {
 public:
  virtual ~Confinement() = default;

  virtual Capabilities capabilities() const = 0;

  // What open_confinement() needs to make this one again, in another process.
  virtual boost::json::object describe() const = 0;

  // Makes the container's cgroup where it is missing, sets CPUs, memory nodes and limits, and
  // brings back processes that are outside. Returns when the kernel has taken it. kConflict: all of
  // it holds but the memory limit, which is below what the container uses. kUnsupported: all of it
  // holds, but the kernel makes no partition of the CPUs.
  virtual Result<void> confine(const ContainerProcesses& container,
                               const Placement& placement) const = 0;

  // The same for the CPUs alone, of a container, or of a shared parent: all containers below the
  // parent follow with this one write.
  virtual Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const = 0;

  // Moves a process with all its threads into the container. REQUIRES: confine() was called.
  virtual Result<void> place(const ContainerProcesses& container, pid_t pid) const = 0;

  // kNotFound: the container's cgroup is gone.
  virtual Result<KernelView> look(const ContainerProcesses& container) const = 0;

  // A file to poll (POLLPRI): when it changes, the container is to be looked at. "": none. Only the
  // cgroup of the container has to be given; quick.
  virtual std::string watched(const ContainerProcesses&) const { return {}; }

  // All processes of the container, those that have left its cgroup included.
  virtual Result<std::set<pid_t>> processes(const ContainerProcesses& container) const = 0;

  // The containers whose processes live in cgroups below the top one that are not in `known`:
  // somebody else has started them, or their records are lost. What becomes of cgroups without
  // processes that are not in `known` says `empty`. Without cgroups: the same by the marks of
  // processes.
  virtual Result<std::vector<LiveContainer>> unknown(const std::set<std::string>& known,
                                                     EmptyCgroups empty) const = 0;

  // Sends SIGKILL to every process and returns how many there were: call until that is zero.
  virtual Result<std::size_t> kill(const ContainerProcesses& container) const = 0;

  // Removes the container's cgroup, and those above it that are empty then. False: the kernel
  // still counts processes in it, try again. A cgroup that does not exist is no error.
  virtual Result<bool> remove(const ContainerProcesses& container) const = 0;
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

// The cgroup of a container that a process is in, whatever the top cgroup is called: one whose path
// has the form of container_cgroup.h, and that nobody but this process's user can put processes
// into. "": none.
std::string own_container_cgroup_of(pid_t pid);

// cpu.weight of cgroup v2 for cpu.shares of v1, as a kubelet converts them.
std::int64_t cpu_weight(std::int64_t shares);

}  // namespace corehold
