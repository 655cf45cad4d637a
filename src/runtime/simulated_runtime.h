// SPDX-License-Identifier: Apache-2.0
//
// The runtime of `corehold agent --simulate`: containers that are only written down. They
// run until they are stopped; those whose command is `sleep N`, `true` or `false` end by
// themselves after N seconds or at once. What `corehold run` brings is a real process, and
// runs until its client has gone, but it is confined to nothing.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "runtime/runtime.h"

namespace corehold {

class SimulatedRuntime : public Runtime {
 public:
  // `path` is the file in which containers outlive the agent; "": nowhere. The loop must
  // outlive the runtime.
  SimulatedRuntime(boost::asio::io_context& loop, std::string path, OnExit on_exit);
  ~SimulatedRuntime() override;

  RuntimeAbilities abilities() const override;
  void list(Done<std::vector<RuntimeContainer>> done) override;
  void start(const Launch& launch, Done<void> done) override;
  void update(const ContainerRef& container, const Confines& confines, Done<void> done) override;
  void signal(const ContainerRef& container, int number, Done<void> done) override;
  void remove(const ContainerRef& container, Done<void> done) override;

 private:
  struct Entry;

  Result<void> load();
  Result<void> save() const;
  Entry* find(const ContainerRef& container);
  void watch(const ContainerRef& container);
  void end(const ContainerRef& container, const RuntimeExit& exit);

  boost::asio::io_context& loop_;
  std::string path_;
  OnExit on_exit_;
  bool is_loaded_ = false;
  std::map<ContainerRef, std::unique_ptr<Entry>> entries_;
  // Handlers of the loop may run after this object has gone; they look here first.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace corehold
