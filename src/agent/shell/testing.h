// SPDX-License-Identifier: Apache-2.0
//
// Fakes of what the shell acts on.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/shell/ports.h"
#include "runtime/runtime.h"

namespace corehold {

// Answers at once, or when answer_all() is called.
class FakeRuntime final : public Runner {
 public:
  explicit FakeRuntime(std::vector<std::string>& diary) : diary_(diary) {}

  Capabilities capabilities() const override { return {}; }
  void list(Done<std::vector<SeenContainer>> done) override {
    diary_.emplace_back("list");
    if (failure) return done(*failure);
    done(containers);
  }
  std::vector<std::string> mistakes(const Pod&) const override { return {}; }
  void start(const Start& start, Done<Started> done) override {
    started.push_back(start);
    answer(fmt::format("start {} on {}", start.container.container, start.placement.cpus.str()),
           [done = std::move(done)](const Result<void>& result) {
             if (!result) return done(result.error());
             done(Started{});
           });
  }
  void place(const ContainerRef& container, const Placement& placement, Done<void> done) override {
    answer(fmt::format("place {} on {}", container.container, placement.cpus.str()),
           std::move(done));
  }
  void place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                    Done<void> done) override {
    answer(fmt::format("place {} that share on {}", members.size(), cpus.str()), std::move(done));
  }
  void write_podinfo(const Pod& pod, const AssignedByContainer&, Done<void> done) override {
    answer("podinfo " + pod.uid, std::move(done));
  }
  void stop(const ContainerRef& container, std::chrono::milliseconds grace,
            Done<void> done) override {
    answer(fmt::format("stop {} in {} s", container.container,
                       std::chrono::duration_cast<std::chrono::seconds>(grace).count()),
           std::move(done));
  }
  void remove_pod(const std::string& uid, Done<void> done) override {
    answer("remove files " + uid, std::move(done));
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
  std::vector<SeenContainer> containers{};
  std::vector<Start> started{};

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
  void changed(const NodeState&, std::span<const std::string>) override {
    diary_.emplace_back("changed");
  }

  std::function<void()> on_reply{};

 private:
  std::vector<std::string>& diary_;
};

}  // namespace corehold
