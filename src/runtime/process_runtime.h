// SPDX-License-Identifier: Apache-2.0
//
// The runtime whose containers are processes of this machine. Each has a monitor
// (monitor.h) that outlives the agent, a directory with its records
// (container_directory.h) and a place in which it is confined (confinement.h). After a
// restart the first list() finds them all again.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/confinement.h"
#include "runtime/container_directory.h"
#include "runtime/runtime.h"

namespace corehold {

struct ProcessRuntimeOptions {
  std::string root{};  // the agent's directory; absolute
  // What runs a monitor; the container's directory is added.
  std::vector<std::string> monitor{"/proc/self/exe", "monitor"};
  std::chrono::milliseconds start_timeout{60'000};
};

class ProcessRuntime : public Runtime {
 public:
  // The loop must outlive it.
  ProcessRuntime(boost::asio::io_context& loop, ProcessRuntimeOptions options,
                 std::unique_ptr<Confinement> confinement, OnExit on_exit);
  // Containers go on running.
  ~ProcessRuntime() override;

  RuntimeAbilities abilities() const override;
  void list(Done<std::vector<RuntimeContainer>> done) override;
  void start(const Launch& launch, Done<void> done) override;
  void update(const ContainerRef& container, const Confines& confines, Done<void> done) override;
  void signal(const ContainerRef& container, int number, Done<void> done) override;
  void remove(const ContainerRef& container, Done<void> done) override;

 private:
  struct Entry;

  Entry* find(const ContainerRef& container);
  Body body_of(const Entry& entry) const;
  RuntimeContainer seen(const Entry& entry) const;

  Result<void> adopt(const ContainerRef& container, bool is_patient);
  void list_again(const Done<std::vector<RuntimeContainer>>& done, int tries);

  Result<void> begin(Entry& entry, const Launch& launch);
  Result<void> attach(Entry& entry, const Launch& launch);
  Result<void> spawn(Entry& entry);
  Result<void> watch(Entry& entry);
  void listen(Entry& entry);
  bool hear_all(Entry& entry);
  void hear(Entry& entry, std::string_view line);
  void wait_for_end(Entry& entry);
  void finish(Entry& entry);
  void report(Entry& entry);
  void abandon(Entry& entry);
  void remove_again(const ContainerRef& container, const Done<void>& done, int tries);
  template <typename Handler>
  void later(Entry& entry, std::chrono::milliseconds after, Handler handler);
  template <typename Handler>
  auto guarded(const Entry& entry, Handler handler);

  boost::asio::io_context& loop_;
  ProcessRuntimeOptions options_;
  std::shared_ptr<Confinement> confinement_;  // shared with entries that were adopted with it
  OnExit on_exit_;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_generation_ = 1;
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace corehold
