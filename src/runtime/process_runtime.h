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
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/confinement.h"
#include "runtime/container_directory.h"
#include "runtime/launcher.h"
#include "runtime/runtime.h"

namespace corehold {

struct ProcessRuntimeOptions {
  std::string root{};  // the agent's directory; absolute
  // What runs a monitor; the container's directory is added.
  std::vector<std::string> monitor{"/proc/self/exe", "monitor"};
  Launcher launcher{};  // who starts monitors
  std::chrono::milliseconds start_timeout{60'000};
  // Told what the operator should know, such as processes that cannot be killed.
  std::function<void(const std::string&)> on_trouble{};
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

  std::string mark_of(const Entry& entry) const;
  std::vector<Neighbour> neighbours_of(const Entry& entry) const;
  void tell_once(Entry& entry, const std::string& trouble);

  // Listing.
  enum class Patience { kWaits, kIsOver };
  Result<void> adopt(const ContainerRef& container, Patience patience);
  Result<void> adopt_without_keeper(std::unique_ptr<Entry> made, Patience patience);
  void list_again(const Done<std::vector<RuntimeContainer>>& done,
                  std::chrono::steady_clock::time_point until);

  // Starting.
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
  static bool has_keeper_gone(const Entry& entry);
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
  OnExit on_exit_;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_generation_ = 1;
  std::set<ContainerRef> troubled_{};  // directories whose trouble was told
  bool is_swept_ = false;              // of what an earlier agent was removing
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace corehold
