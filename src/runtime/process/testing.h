// SPDX-License-Identifier: Apache-2.0
//
// A process runtime of its own for tests on the real kernel: a directory, a top cgroup and
// containers of its own, all gone when it goes. The test binary's main() must hand
// "monitor DIR" to run_monitor(): it is the monitors' program too.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/cgroup/confinement.h"
#include "runtime/process/process_runtime.h"

namespace corehold {

struct SeenExit {
  ContainerRef container{};
  int attempt = 0;
  ContainerExit exit{};
};

class RuntimeBench : public RuntimeEvents {
 public:
  enum class Kind { kCgroup, kAffinity };
  explicit RuntimeBench(Kind kind);
  RuntimeBench(const RuntimeBench&) = delete;
  RuntimeBench& operator=(const RuntimeBench&) = delete;
  ~RuntimeBench() override;  // NOLINT(bugprone-exception-escape): see there

  const std::string& root() const { return root_; }
  const std::string& name() const { return name_; }
  ProcessRuntime& runtime() { return *runtime_; }
  std::vector<SeenExit>& exits() { return exits_; }
  boost::asio::io_context& loop() { return loop_; }

  // What the operator was told.
  const std::vector<std::string>& troubles() const { return troubles_; }

  // How long list() waits, from the next restart on.
  void set_list_timeout(std::chrono::milliseconds timeout) { list_timeout_ = timeout; }

  // How long a command may take until it runs, from the next restart on.
  void set_start_timeout(std::chrono::milliseconds timeout) { start_timeout_ = timeout; }

  // As when the agent ends and another one begins.
  void restart();
  // The same with another program for monitors.
  void restart(std::vector<std::string> monitor);
  // The same with monitors that a launcher starts.
  void restart(Launcher launcher);

  // The same with --recover.
  void restart(std::function<KnownContainer(const ContainerRef&)> recover);

  // The same with another confinement.
  void restart(std::unique_ptr<Confinement> confinement);

  // A launch of /bin/sh -c SCRIPT on these CPUs, with a log.
  Launch shell(const std::string& container, const std::string& script, const std::string& cpus);

  // Each calls and turns the loop until it is done.
  Result<void> start(const Launch& launch);
  Result<void> update(const ContainerRef& container, const std::string& cpus);
  Result<void> update(const ContainerRef& container, const Placement& placement);
  Result<void> place_shared(const std::string& cpus, const std::set<ContainerRef>& members);
  Result<void> stop(const ContainerRef& container, std::chrono::milliseconds grace);
  Result<void> kill(const ContainerRef& container) { return stop(container, {}); }
  Result<void> remove(const ContainerRef& container);
  Result<std::vector<SeenContainer>> list();
  // Of one container; no value: it is not listed.
  std::optional<SeenContainer> look(const ContainerRef& container);

  // The next end that was not yet waited for; no value after twenty seconds.
  std::optional<SeenExit> wait_for_exit();
  // Turns the loop until it holds; false after twenty seconds.
  bool eventually(const std::function<bool()>& holds);

  std::string log_of(const Launch& launch) const;

  // The container's cgroup as far as "cpuset", "cpu" or "memory" is concerned; on v2 the same one.
  std::string cgroup_of(const std::string& controller, const ContainerRef& container) const;
  // Where everybody is who is in no cgroup of ours.
  std::string outside() const;
  // Our top cgroups.
  std::vector<std::string> tops() const;
  bool is_v2() const;

 private:
  void preparing(const ContainerRef&, int, const std::string&) override {}
  void exited(const ContainerRef& container, int attempt, const ContainerExit& exit) override;
  void started(const ContainerRef&, int) override {}
  void removed(const std::string&) override {}
  void synchronized(std::vector<SeenContainer>) override {}
  void asked(const Ask&, std::function<void(Result<Grant>)>) override {}

  void restart_with(ProcessRuntimeOptions options);
  void restart_with(ProcessRuntimeOptions options, std::unique_ptr<Confinement> confinement);

  Kind kind_;
  std::string root_;
  std::string name_;
  boost::asio::io_context loop_{};
  std::vector<SeenExit> exits_{};
  std::vector<std::string> troubles_{};
  std::size_t waited_for_ = 0;
  std::chrono::milliseconds list_timeout_ = ProcessRuntimeOptions{}.list_timeout;
  std::chrono::milliseconds start_timeout_ = ProcessRuntimeOptions{}.start_timeout;
  std::unique_ptr<ProcessRuntime> runtime_{};
};

// The CPUs a process may run on, as /proc shows them ("0-1"); "" when it has gone.
std::string allowed_cpus(pid_t pid);

// Every CPU of the machine that is online.
std::string all_cpus();

}  // namespace corehold
