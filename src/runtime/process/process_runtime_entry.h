// SPDX-License-Identifier: Apache-2.0
//
// One container as the process runtime has it in memory, for the files that ProcessRuntime
// is written in: process_runtime*.cc.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/container_cgroup.h"
#include "runtime/process/process_runtime.h"

namespace corehold {

inline constexpr std::chrono::milliseconds kShortestPause{1};
inline constexpr std::chrono::milliseconds kLongestPause{500};
// The lane of lists. No UID of a pod: names of directories have no slash.
inline constexpr std::string_view kListLane = "/list";

inline bool has_live(const Result<std::set<pid_t>>& processes) {
  return processes && !std::all_of(processes->begin(), processes->end(), has_ended);
}

// Where a container is confined: container_cgroup.h.
struct CgroupPath {
  std::string cgroup{};
  std::string shared_parent{};
};

// What work on a container has found or done, for work that was queued before: changed by work of
// the container's lane alone, and read by the lane of the shared pool as well.
class WorkPlace {
 public:
  explicit WorkPlace(CgroupPath path) : path_(std::move(path)) {}

  CgroupPath path() const {
    const std::scoped_lock held(lock_);
    return path_;
  }
  // The container's monitor, from when work has started it.
  ProcessId monitor() const {
    const std::scoped_lock held(lock_);
    return monitor_;
  }
  void move_to(CgroupPath path) {
    const std::scoped_lock held(lock_);
    path_ = std::move(path);
  }
  void supervise(const ProcessId& monitor) {
    const std::scoped_lock held(lock_);
    monitor_ = monitor;
  }

 private:
  mutable std::mutex lock_{};  // of all below, between the two lanes; never held for long
  CgroupPath path_;
  ProcessId monitor_{};
};

// A container as work beside the loop has it.
struct ProcessRuntime::Subject {
  std::shared_ptr<const Confinement> confinement{};
  std::shared_ptr<WorkPlace> place{};  // shared by the work on the container
  ContainerDirectory directory;
  ProcessId supervisor{};
  ContainerProcesses container{};  // without what is above

  // As it is now: the supervisor's number may be another's already while the news of its end are
  // on their way.
  ContainerProcesses processes() const {
    ContainerProcesses now = container;
    CgroupPath path = place->path();
    now.cgroup = std::move(path.cgroup);
    now.shared_parent = std::move(path.shared_parent);
    const ProcessId now_supervised_by = supervisor.pid > 0 ? supervisor : place->monitor();
    now.supervisor = is_running(now_supervised_by) ? now_supervised_by.pid : 0;
    return now;
  }
  // Whether what runs is not what the records are of: some are lost, or they are older. Nothing is
  // killed on the word of such records; Survey::find() names the container.
  bool is_of_another_run(bool is_on_record) const;

  Result<std::size_t> kill() const { return confinement->kill(processes()); }
  Result<bool> remove() const {
    container.own_cpus->close();
    return confinement->remove(processes());
  }
  // Puts the container on the CPUs of the shared pool, beside its lane, in which other work may
  // hang.
  Result<void> follow_pool(const CpuSet& cpus) const;
};

// A look at the machine for containers that are not of this runtime, beside the loop.
struct ProcessRuntime::Survey {
  std::shared_ptr<const Confinement> confinement{};
  std::string root{};
  std::set<std::string> known{};        // cgroups, marks and "POD/CONTAINER"
  std::set<pid_t> supervisors{};        // of this runtime
  std::set<std::string> directories{};  // of containers that have not ended
  std::vector<LiveContainer> last{};    // what the last list has found
  bool is_first = false;                // nothing starts while this looks

  Result<std::vector<LiveContainer>> find() const;
  // Fails while a container that is not of this runtime may run on CPUs that the placement gives
  // to a container alone. CPUs that the subject has it keeps.
  Result<void> check(const Placement& placement) const;
  Result<void> check(const Placement& placement, const Subject& subject) const;

 private:
  void add_supervised(std::vector<LiveContainer>& unknown) const;
  Result<void> check(const CpuSet& cpus) const;
};

struct ProcessRuntime::Entry {
  enum class Phase { kStarting, kRunning, kEnding, kEnded };

  Entry(boost::asio::io_context& loop, ContainerRef ref, ContainerDirectory kept)
      : container(std::move(ref)),
        directory(std::move(kept)),
        pidfd(loop),
        main_pidfd(loop),
        channel(loop),
        partition(loop),
        partition_look(loop),
        timer(loop),
        kill_timer(loop) {}

  CgroupPath path_of(std::string cgroup) const {
    std::string parent = shared_parent_of(cgroup, confinement->capabilities().confined_by);
    return {.cgroup = std::move(cgroup), .shared_parent = std::move(parent)};
  }
  void confine_in(std::string cgroup) {
    path = path_of(std::move(cgroup));
    place = std::make_shared<WorkPlace>(path);
  }

  ContainerRef container;
  ContainerDirectory directory;
  std::uint64_t generation = 0;  // tells this entry from a later one of the same container
  Phase phase = Phase::kStarting;
  int attempt = 0;
  KeptPod pod{};
  std::shared_ptr<Confinement> confinement{};
  CgroupPath path{};                   // as was asked for last
  std::shared_ptr<WorkPlace> place{};  // Subject::place; both by confine_in()
  // Where the container is to be, for its lane and for that of the pool; shared with both.
  std::shared_ptr<NewestCpus> cpus = std::make_shared<NewestCpus>();
  std::shared_ptr<NewestCpus> earlier_cpus{};  // of an attempt before, closed by work; null: none
  std::string lane{};                          // of its work
  ProcessId supervisor{};
  ProcessId main{};
  bool is_on_record = true;  // launch.json can be read
  bool is_child = false;     // the supervisor is ours to reap
  bool is_attached = false;  // the supervisor is a client, and outlives the container
  std::chrono::milliseconds started_at{};
  std::chrono::milliseconds pause{kShortestPause};
  std::optional<ContainerExit> exit{};
  std::string mark{};                  // container_mark.h
  std::vector<ProcessId> unrelated{};  // of a client: what is its own
  std::optional<Launch> launch{};      // until it has begun
  std::optional<Subject> left{};       // of an earlier attempt with another cgroup, to be cleared
  std::shared_ptr<const Pod> volumes_of{};  // whose volumes it needs; null: none
  bool is_prepared = false;                 // its volumes and records are made
  bool is_beginning = false;                // it is being confined, with the pool as it was then
  std::optional<Error> failed{};            // a start, of which nothing is to be left
  bool is_unwanted = false;                 // it was killed before it had begun
  bool is_told = false;                     // the operator knows of its trouble
  Done<Started> started{};                  // what waits for the start
  bool ran = false;                         // the monitor said that it runs, or did
  std::string failure{};                    // what the monitor said about a start that failed
  boost::asio::posix::stream_descriptor pidfd;
  boost::asio::posix::stream_descriptor main_pidfd;  // of a process that was attached
  boost::asio::posix::stream_descriptor channel;
  boost::asio::posix::stream_descriptor partition;  // Confinement::watched()
  boost::asio::steady_timer partition_look;         // reads it again and again
  std::string partition_text{};                     // what it said last
  std::string heard{};
  std::vector<int> signals{};  // for when it has started
  boost::asio::steady_timer timer;
  // When the container is killed; no value: nothing has asked it to end.
  std::optional<std::chrono::steady_clock::time_point> kill_at{};
  boost::asio::steady_timer kill_timer;
};

// A handler for the loop that runs only while the entry is still there.
template <typename Handler>
auto ProcessRuntime::guarded(const Entry& entry, Handler handler) {
  return [this, lives = lives_, container = entry.container, generation = entry.generation,
          handler = std::move(handler)](boost::system::error_code error, auto&&... rest) {
    if (!*lives || error == boost::asio::error::operation_aborted) return;
    Entry* current = find(container);
    if (current == nullptr || current->generation != generation) return;
    handler(*current, error, rest...);
  };
}

template <typename Handler>
void ProcessRuntime::later(Entry& entry, std::chrono::milliseconds after, Handler handler) {
  entry.timer.expires_after(after);
  entry.timer.async_wait(
      guarded(entry, [handler](Entry& current, boost::system::error_code) { handler(current); }));
}

template <typename Work, typename Then>
void ProcessRuntime::beside(const std::string& lane, Work work, Then then) {
  using Outcome = std::invoke_result_t<Work>;
  // Filled by the worker, and read by the loop after it.
  auto outcome = std::make_shared<std::optional<Outcome>>();
  lanes_.run(
      lane,
      [outcome, work = std::move(work)] {
        // A library that throws ends this work, and not the agent.
        try {
          outcome->emplace(work());
        } catch (const std::exception& error) {
          outcome->emplace(Error{Code::kIo, error.what()});
        }
      },
      [outcome, lives = lives_, then = std::move(then)] {
        if (*lives) then(**outcome);
      });
}

template <typename Work, typename Then>
void ProcessRuntime::beside(const Entry& entry, Work work, Then then) {
  using Outcome = std::invoke_result_t<Work>;
  beside(entry.lane, std::move(work),
         [this, container = entry.container, generation = entry.generation,
          then = std::move(then)](const Outcome& outcome) {
           Entry* current = find(container);
           if (current == nullptr || current->generation != generation) return;
           then(*current, outcome);
         });
}

// For messages: "container main (pod UID)".
std::string name_of(const ContainerRef& container);

// The container's main process where no record names it: the oldest child of its supervisor; pid 0:
// there is none.
ProcessId first_process_of(const ProcessId& supervisor);

// What a client of `corehold run` says about memory is for booking, and mostly it has not said
// anything: its command has no limit.
Placement placement_of_client(Placement placement);

std::chrono::milliseconds wall_millis();

}  // namespace corehold
