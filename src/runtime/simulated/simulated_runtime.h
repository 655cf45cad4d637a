// SPDX-License-Identifier: Apache-2.0
//
// The runtime of `corehold agent --simulate`: containers that are only written down. They
// run until they are stopped; those whose command is `sleep N`, `true` or `false` end by
// themselves after N seconds or at once. What `corehold run` brings is a real process, and
// runs until its client has gone, but it is confined to nothing.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "runtime/container_launch.h"
#include "runtime/manifest.h"
#include "runtime/runtime.h"
#include "runtime/simulated/simulated_journal.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/workspace.h"

namespace corehold {

class SimulatedRuntime : public Runner {
 public:
  // `path` is the file in which containers outlive the agent; "": nowhere. The loop and the
  // events must outlive the runtime.
  SimulatedRuntime(boost::asio::io_context& loop, std::string path, WorkspaceOptions workspace,
                   RuntimeEvents& events);
  ~SimulatedRuntime() override;

  Capabilities capabilities() const override;
  void list(Done<std::vector<SeenContainer>> done) override;
  void place(const ContainerRef& container, const Placement& placement, Done<void> done) override;
  void place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                    Done<void> done) override;
  void write_podinfo(const Pod& pod, const AssignedByContainer& assigned, Done<void> done) override;
  // Nothing runs here, so fields that no process would have the effect of are let pass.
  std::vector<std::string> mistakes(const Pod& pod) const override { return mistakes_of(pod); }
  void start(const Start& start, Done<Started> done) override;
  void stop(const ContainerRef& container, std::chrono::milliseconds grace,
            Done<void> done) override;
  void remove(const ContainerRef& container, Done<void> done) override;
  void remove_pod(const std::string& uid, Done<void> done) override;

  // start() from what the workspace has prepared.
  void launch(const Launch& launch, const Done<Started>& done);

 private:
  struct Entry;

  Result<void> load();
  void launch_for(const Launch& launch, const KeptPod& pod, const Done<Started>& done);
  Result<void> kill(const ContainerRef& container);
  void kill_later(const ContainerRef& container);
  Result<void> send(const ContainerRef& container, int number);
  Entry* find(const ContainerRef& container);
  void watch(const ContainerRef& container);
  void end(const ContainerRef& container, const ContainerExit& exit);

  boost::asio::io_context& loop_;
  SimulatedJournal journal_;
  Workspace workspace_;
  RuntimeEvents& events_;
  bool is_loaded_ = false;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace corehold
