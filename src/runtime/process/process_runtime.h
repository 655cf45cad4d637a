// SPDX-License-Identifier: Apache-2.0
//
// The runtime whose containers are processes of this machine. Each has a monitor
// (monitor.h) that outlives the agent, a directory with its records
// (container_directory.h) and a place in which it is confined (confinement.h). After a
// restart the first list() finds them all again.
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

namespace corehold {

struct ProcessRuntimeOptions {
  WorkspaceOptions workspace{};  // whose context has the agent's directory
  // What runs a monitor; the container's directory is added.
  std::vector<std::string> monitor{"/proc/self/exe", "monitor"};
  std::chrono::milliseconds start_timeout{60'000};
  // How long list() waits for containers that start or end in this moment.
  std::chrono::milliseconds list_timeout{2'000};
  // Told what the operator should know, such as processes that cannot be killed.
  std::function<void(const std::string&)> on_trouble{};
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
  std::vector<std::string> mistakes(const Pod& pod) const override { return mistakes_of(pod); }
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
  ContainerProcesses processes_of(const Entry& entry) const;
  ContainerProcesses remains_of(const ContainerRef& container);
  Placement current(const Entry& entry, const Placement& placement) const;
  Result<void> move_out(Entry& entry);
  SeenContainer seen(const Entry& entry) const;

  std::string mark_of(const Entry& entry) const;
  std::vector<Neighbour> neighbours_of(const Entry& entry) const;
  void tell_once(Entry& entry, const std::string& trouble);

  // Listing.
  enum class Patience { kWaits, kIsOver };
  Result<void> adopt(const ContainerRef& container, Patience patience);
  Result<void> adopt_without_supervisor(std::unique_ptr<Entry> made, Patience patience);
  bool is_of_another_run(const Entry& entry, bool is_on_record) const;
  void list_later(const Done<std::vector<SeenContainer>>& done,
                  std::chrono::steady_clock::time_point until);
  void list_again(const Done<std::vector<SeenContainer>>& done,
                  std::chrono::steady_clock::time_point until);

  // Containers that run and are not of this runtime.
  std::set<std::string> known_places() const;
  void add_supervised(std::vector<LiveContainer>& unknown) const;
  Result<std::vector<LiveContainer>> find_unknown() const;
  void note_unknown(std::vector<LiveContainer> unknown);
  Result<void> check_unknown(const CpuSet& cpus);

  // Starting.
  void launch_for(const Launch& launch, KeptPod pod, Done<Started> done);
  Result<void> leave_old_cgroup(const ContainerRef& container, const std::string& cgroup);
  Result<void> check_free(const Launch& launch);
  Result<void> record(Entry& entry);
  void clear_place(Entry& entry);
  Result<void> begin(Entry& entry);
  Result<void> attach(Entry& entry, const Launch& launch);
  Result<void> spawn(Entry& entry);
  Result<void> watch(Entry& entry);
  void wait_for_start(Entry& entry);
  void listen(Entry& entry);
  bool hear_all(Entry& entry);
  void hear(Entry& entry, std::string_view line);

  // Ending.
  static Result<void> terminate(Entry& entry);
  Result<void> kill(Entry& entry);
  void kill_later(Entry& entry);
  static bool has_supervisor_gone(const Entry& entry);
  void fail(Entry& entry, const Error& error);
  void wait_for_end(Entry& entry);
  void finish(Entry& entry);
  void take_back(Entry& entry);
  void remove_again(const ContainerRef& container, const Done<void>& done, int tries);
  template <typename Handler>
  void later(Entry& entry, std::chrono::milliseconds after, Handler handler);
  template <typename Handler>
  auto guarded(const Entry& entry, Handler handler);

  boost::asio::io_context& loop_;
  ProcessRuntimeOptions options_;
  std::shared_ptr<Confinement> confinement_;  // shared with entries that were adopted with it
  Workspace workspace_;
  RuntimeEvents& events_;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_generation_ = 1;
  std::optional<CpuSet> pool_{};          // where the containers that share are, as asked for last
  std::set<ContainerRef> troubled_{};     // directories whose trouble was told
  bool is_swept_ = false;                 // of what an earlier agent was removing
  bool was_listed_ = false;               // once, with nothing that is unknown
  std::vector<LiveContainer> unknown_{};  // that have turned up since
  std::set<std::string> told_unknown_{};  // the cgroups of those that were told
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace corehold
