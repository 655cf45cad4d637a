// SPDX-License-Identifier: Apache-2.0
//
// The runtime whose containers are processes of this machine. Each has a monitor
// (monitor.h) that outlives the agent, a directory with its records
// (container_directory.h) and a place in which it is confined (confinement.h). After a
// restart the first list() finds them all again. What takes as long as a container has processes,
// threads or files is done by worker threads, one lane for each pod.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/cgroup/confinement.h"
#include "runtime/container_directory.h"
#include "runtime/manifest.h"
#include "runtime/runtime.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/workspace.h"
#include "sys/worker_lanes.h"

namespace corehold {

// What somebody else knows of a container whose records are lost.
struct KnownContainer {
  int attempt = 0;
  std::string manifest{};  // manifest.h; "": not known
};

struct ProcessRuntimeOptions {
  WorkspaceOptions workspace{};  // whose context has the agent's directory
  // What runs a monitor; the container's directory is added.
  std::vector<std::string> monitor{"/proc/self/exe", "monitor"};
  // How long a command may take until it runs; it is ended then.
  std::chrono::milliseconds start_timeout{60'000};
  // How long list() waits for containers that start or end in this moment.
  std::chrono::milliseconds list_timeout{2'000};
  // Told what the operator should know, such as processes that cannot be killed.
  std::function<void(const std::string&)> on_trouble{};
  // With --recover: records that are damaged, lost or older than the container are made anew from
  // the kernel and from this. Null: the first list() refuses such a container by name.
  std::function<KnownContainer(const ContainerRef&)> recover{};
};

class ProcessRuntime : public Runner {
 public:
  // The loop and the events must outlive it.
  ProcessRuntime(boost::asio::io_context& loop, ProcessRuntimeOptions options,
                 std::unique_ptr<Confinement> confinement, RuntimeEvents& events);
  // Containers go on running.
  ~ProcessRuntime() override;

  Capabilities capabilities() const override;
  void list(Done<std::vector<SeenContainer>> done) override;
  void place(const ContainerRef& container, const Placement& placement, Done<void> done) override;
  void place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                    Done<void> done) override;
  void write_podinfo(const Pod& pod, const AssignedByContainer& assigned, Done<void> done) override;
  std::vector<std::string> mistakes(const Pod& pod) const override;
  void start(const Start& start, Done<Started> done) override;
  void stop(const ContainerRef& container, std::chrono::milliseconds grace,
            Done<void> done) override;
  void remove(const ContainerRef& container, Done<void> done) override;
  void remove_pod(const std::string& uid, Done<void> done) override;

  // start() from what the workspace has prepared.
  void launch(const Launch& launch, Done<Started> done);

 private:
  struct Entry;

  const std::string& root() const { return options_.workspace.context.root; }
  Entry* find(const ContainerRef& container);
  Placement current(const Entry& entry, const Placement& placement) const;

  std::string mark_of(const Entry& entry) const;
  // Shared by the work on the containers that are looked at together.
  using Neighbours = std::shared_ptr<const std::vector<Neighbour>>;
  Neighbours neighbours() const;
  void tell_once(Entry& entry, const std::string& trouble);

  // Work beside the loop. It has a copy of what it needs of an entry.
  struct Subject;
  Subject subject_of(const Entry& entry) const;
  Subject subject_of(const Entry& entry, Neighbours neighbours) const;
  std::string lane_of(const ContainerRef& container, pid_t client) const;
  // Does `work`, which returns a Result, in a lane; `then` has the result, on the loop.
  template <typename Work, typename Then>
  void beside(const std::string& lane, Work work, Then then);
  // The same in the entry's lane, and `then` has the entry: it is not called for one that has gone.
  template <typename Work, typename Then>
  void beside(const Entry& entry, Work work, Then then);

  // Listing.
  enum class Patience { kWaits, kIsOver };
  struct Listing;
  void list_again(const std::shared_ptr<Listing>& listing);
  void adopt_all(const std::shared_ptr<Listing>& listing,
                 const std::vector<ContainerRef>& containers);
  Result<void> adopt(Listing& listing, const ContainerRef& container);
  void adopt_orphans(const std::shared_ptr<Listing>& listing);
  struct Orphan;
  void adopt_without_supervisor(Listing& listing, std::unique_ptr<Entry> made,
                                const Orphan& orphan);
  void list_later(const std::shared_ptr<Listing>& listing);
  void end_round(const std::shared_ptr<Listing>& listing);
  void look(const std::shared_ptr<Listing>& listing);
  Result<void> check_records(Entry& entry);
  bool is_live(const Entry& entry) const;
  void rebuild(const std::vector<LiveContainer>& unknown, Done<void> done);
  static SeenContainer seen(const Entry& entry);
  void watch_partition(Entry& entry);
  void await_partition_notice(Entry& entry);
  void await_partition_look(Entry& entry);
  // Whether the container still has the file.
  bool look_at_partition(Entry& entry);

  // Containers that run and are not of this runtime.
  struct Survey;
  Survey survey() const;
  Survey survey_for_start() const;
  std::set<std::string> known_places() const;
  static void add_cgroups(const Entry& entry, std::set<std::string>& cgroups);
  void forget(const ContainerRef& container);
  Result<std::vector<LiveContainer>> still_unknown(
      Result<std::vector<LiveContainer>> unknown) const;
  void note_unknown(std::vector<LiveContainer> unknown);

  // Starting.
  struct Beginning {
    Launch launch{};
    KeptPod pod{};
    std::shared_ptr<const Pod> volumes_of{};  // null: none are made
  };
  void launch_for(Beginning beginning, Done<Started> done);
  Result<void> check_free(const Launch& launch);
  void clear_place(Entry& entry);
  void begin(Entry& entry);
  void attach(Entry& entry);
  void take_in(Entry& entry);
  struct Spawned;
  void spawn(Entry& entry);
  Result<void> go(Entry& entry, const Spawned& spawned);
  Result<void> watch(Entry& entry);
  void wait_for_start(Entry& entry);
  void listen(Entry& entry);
  bool hear_all(Entry& entry);
  void hear(Entry& entry, std::string_view line);

  // Ending.
  static Result<void> terminate(Entry& entry);
  void kill(Entry& entry, Done<void> done);
  void kill_later(Entry& entry);
  void fail(Entry& entry, const Error& error);
  void wait_for_end(Entry& entry);
  void finish(Entry& entry, const std::optional<ContainerExit>& kept);
  void take_back(Entry& entry);
  void remove_again(const ContainerRef& container, const Done<void>& done, int tries);
  template <typename Handler>
  void later(Entry& entry, std::chrono::milliseconds after, Handler handler);
  template <typename Handler>
  auto guarded(const Entry& entry, Handler handler);

  boost::asio::io_context& loop_;
  ProcessRuntimeOptions options_;
  std::shared_ptr<Confinement> confinement_;  // shared with entries and with work beside the loop
  Workspace workspace_;
  RuntimeEvents& events_;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_generation_ = 1;
  std::optional<CpuSet> pool_{};  // where the containers that share are, as asked for last
  // The same for the threads that write it to the kernel; shared with them.
  std::shared_ptr<NewestCpus> shared_cpus_ = std::make_shared<NewestCpus>();
  std::set<ContainerRef> troubled_{};     // directories whose trouble was told
  bool is_swept_ = false;                 // of what an earlier agent was removing
  bool was_listed_ = false;               // once, with nothing that is unknown
  std::vector<LiveContainer> unknown_{};  // that have turned up since
  std::set<std::string> told_unknown_{};  // the cgroups of those that were told
  std::size_t looks_ = 0;                 // surveys that are under way
  std::set<std::string> left_{};          // cgroups of containers that have gone since they began
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
  WorkerLanes lanes_;
};

}  // namespace corehold
