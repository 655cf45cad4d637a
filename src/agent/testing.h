// SPDX-License-Identifier: Apache-2.0
//
// Fakes of what the shell acts on.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/ports.h"

namespace corehold {

// Writes down what was asked, and fails when told to.
class FakeStore final : public NodeStore {
 public:
  explicit FakeStore(std::vector<std::string>& diary) : diary_(diary) {}

  Result<void> save_pod(const PodRecord& record) override { return note("save " + record.pod.uid); }
  Result<void> forget_pod(const std::string& uid) override { return note("forget " + uid); }
  Result<void> save_checkpoint(const State&) override { return note("checkpoint"); }

  std::optional<Error> failure{};

 private:
  Result<void> note(std::string what) {
    diary_.push_back(std::move(what));
    if (failure) return *failure;
    return {};
  }

  std::vector<std::string>& diary_;
};

class FakeWorkspace final : public Workspace {
 public:
  explicit FakeWorkspace(std::vector<std::string>& diary) : diary_(diary) {}

  Result<Launch> prepare(const PodRecord&, const StartContainer& start) override {
    diary_.push_back("prepare " + start.container.container);
    if (failure) return *failure;
    return Launch{.container = start.container, .attempt = start.attempt};
  }
  Result<void> write_podinfo(const Pod& pod, const std::map<std::string, AssignedCpus>&) override {
    diary_.push_back("podinfo " + pod.uid);
    if (failure) return *failure;
    return {};
  }
  Result<void> remove(const std::string& uid) override {
    diary_.push_back("remove files " + uid);
    return {};
  }

  std::optional<Error> failure{};

 private:
  std::vector<std::string>& diary_;
};

// Answers at once, or when answer_all() is called.
class FakeRuntime final : public Runtime {
 public:
  explicit FakeRuntime(std::vector<std::string>& diary) : diary_(diary) {}

  RuntimeAbilities abilities() const override { return {.confinement = "fake"}; }
  void list(Done<std::vector<RuntimeContainer>> done) override {
    diary_.emplace_back("list");
    if (failure) return done(*failure);
    done(containers);
  }
  void start(const Launch& launch, Done<void> done) override {
    answer(fmt::format("start {} on {}", launch.container.container, launch.confines.cpus.str()),
           std::move(done));
  }
  void update(const ContainerRef& container, const Confines& confines, Done<void> done) override {
    answer(fmt::format("update {} to {}", container.container, confines.cpus.str()),
           std::move(done));
  }
  void signal(const ContainerRef& container, int number, Done<void> done) override {
    answer(fmt::format("signal {} {}", container.container, number), std::move(done));
  }
  void remove(const ContainerRef& container, Done<void> done) override {
    answer("remove " + container.container, std::move(done));
  }

  void answer_all() {
    while (!waiting_.empty()) {
      const Done<void> done = std::move(waiting_.front());
      waiting_.pop_front();
      tell(done);
    }
  }

  bool is_slow = false;
  std::optional<Error> failure{};
  std::vector<RuntimeContainer> containers{};

 private:
  void answer(std::string what, Done<void> done) {
    diary_.push_back(std::move(what));
    if (is_slow) {
      waiting_.push_back(std::move(done));
    } else {
      tell(done);
    }
  }
  void tell(const Done<void>& done) {
    if (failure) return done(*failure);
    done({});
  }

  std::vector<std::string>& diary_;
  std::deque<Done<void>> waiting_{};
};

// Writes down what it hears.
class FakeListener final : public ShellListener {
 public:
  explicit FakeListener(std::vector<std::string>& diary) : diary_(diary) {}

  void replied(const Reply& reply) override {
    diary_.push_back(fmt::format("reply {}", reply.request));
    if (on_reply) on_reply();
  }
  void happened(const EmitEvent& event, const NodeState&) override {
    diary_.push_back("event " + event.reason);
  }
  void counted(const CountMetric& metric) override { diary_.push_back("count " + metric.name); }
  void changed(const NodeState&) override { diary_.emplace_back("changed"); }

  std::function<void()> on_reply{};

 private:
  std::vector<std::string>& diary_;
};

}  // namespace corehold
