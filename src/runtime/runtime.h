// SPDX-License-Identifier: Apache-2.0
//
// Runtime: what starts, confines and ends containers. It decides nothing. Calls give
// their result to a callback, at once or later on the same loop; the order of calls for
// one container is kept.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"

namespace corehold {

struct Mount {
  std::string source{};
  std::string target{};  // as the container sees it; need not exist on the machine
  bool read_only = false;
  std::string sub_path{};   // inside the source, and never outside it by a link
  bool may_create = false;  // the source is ours: what is missing inside it is made

  bool operator==(const Mount&) const = default;
};

// Where a container may run, how much it counts there, and how much memory it may use.
struct Confines {
  CpuSet cpus{};                  // empty: not confined (policy none)
  std::optional<NodeSet> mems{};  // no value: not pinned
  int cpu_shares = 2;             // as cgroup v1 counts them: 1024 for one CPU
  std::int64_t quota_millis = 0;  // thousandths of a CPU; 0: none
  std::int64_t memory_limit = 0;  // bytes; 0: none

  bool operator==(const Confines&) const = default;
};

// One run of one container, complete.
struct Launch {
  ContainerRef container{};
  int attempt = 0;
  std::vector<std::string> command{};
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string working_directory{};  // "": /
  std::optional<uid_t> user{};      // no value: the agent's
  std::optional<gid_t> group{};
  std::vector<gid_t> groups{};
  std::vector<Mount> mounts{};
  std::string log_path{};
  std::string manifest{};  // the pod as JSON, kept for a recovery without a store
  Confines confines{};
  // A process that waits to be let go (`corehold run`), and the client whose child it is:
  // it is taken in instead of a command being started. 0: none.
  pid_t attached = 0;
  pid_t attached_to = 0;
  bool no_new_privileges = false;  // no program it runs gets more rights than it has
};

// How a container ended, as the monitor wrote it down.
struct RuntimeExit {
  int code = 0;  // 128 + signal when one ended it
  int signal = 0;
  bool known = true;                        // false: nobody saw it end
  std::string message{};                    // why the command could not be started; mostly empty
  bool out_of_memory = false;               // the kernel killed somebody of it for that
  std::chrono::milliseconds finished_at{};  // since the Unix epoch

  bool operator==(const RuntimeExit&) const = default;
};

// A container as the machine has it.
struct RuntimeContainer {
  ContainerRef container{};
  int attempt = 0;
  bool running = false;
  CpuSet cpus{};
  bool strayed = false;  // processes or threads of it were outside its confines
  std::chrono::milliseconds started_at{};
  std::optional<RuntimeExit> exit{};
  std::string manifest{};
};

struct RuntimeAbilities {
  std::string confinement{};  // "cgroup v2", "cgroup v1", "affinity", "simulated"
  std::string note{};         // what the operator should know, once; may be empty
};

template <typename T>
using Done = std::function<void(Result<T>)>;

class Runtime {
 public:
  // An end that was not reported before. Never called from inside a call of this class.
  using OnExit = std::function<void(const ContainerRef&, int attempt, const RuntimeExit&)>;

  virtual ~Runtime() = default;
  virtual RuntimeAbilities abilities() const = 0;

  // All containers of ours, running or ended and not yet removed. From the first list() on
  // those that run are watched, whoever started them.
  virtual void list(Done<std::vector<RuntimeContainer>> done) = 0;

  // Done when it is confined and runs. What an earlier attempt left is replaced.
  virtual void start(const Launch& launch, Done<void> done) = 0;

  // Done when the kernel has taken it: no thread of the container runs elsewhere. Also
  // brings back what has strayed. kConflict: so it is with all but the memory limit, which is
  // below what the container uses; the old one holds, and one may try again.
  virtual void update(const ContainerRef& container, const Confines& confines, Done<void> done) = 0;

  // Sends a signal: SIGTERM to the container's main process, SIGKILL to all of it.
  // A container that does not run is no error.
  virtual void signal(const ContainerRef& container, int number, Done<void> done) = 0;

  // Forgets a container that has ended, cgroup included. An unknown one is no error.
  virtual void remove(const ContainerRef& container, Done<void> done) = 0;
};

}  // namespace corehold
