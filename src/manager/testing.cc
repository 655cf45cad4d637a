// SPDX-License-Identifier: Apache-2.0
#include "manager/testing.h"

#include <cstdio>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "policy/none_policy.h"

namespace corehold {
namespace {

std::string text_of(const ContainerRef& ref) {
  return ref.container.empty() ? ref.pod : fmt::format("{}/{}", ref.pod, ref.container);
}

std::string_view text_of(TimerKey::Kind kind) {
  switch (kind) {
    case TimerKey::Kind::kRestart:
      return "restart";
    case TimerKey::Kind::kRetry:
      return "retry";
    case TimerKey::Kind::kSaveRetry:
      return "save-retry";
    case TimerKey::Kind::kReconcile:
      return "reconcile";
    case TimerKey::Kind::kDelay:
      return "delay";
    case TimerKey::Kind::kAnswer:
      return "answer";
    case TimerKey::Kind::kFence:
      return "fence";
  }
  check_failed("every kind of timer has a name", __FILE__, __LINE__);
}

std::string text_of(const TimerKey& timer) {
  const std::string about = text_of(timer.about);
  return fmt::format("{}{}{}", text_of(timer.kind), about.empty() ? "" : " ", about);
}

std::string line_of(const State& checkpoint) {
  std::string text = "persist shared " + checkpoint.shared.str();
  for (const auto& [pod, containers] : checkpoint.pods) {
    for (const auto& [name, holding] : containers) {
      text += fmt::format(" {}/{} {}", pod, name, holding.assigned.str());
    }
  }
  return text;
}

struct Line {
  std::string operator()(const SavePod& e) const { return "save " + e.record.pod.uid; }
  std::string operator()(const ForgetPod& e) const { return "forget " + e.uid; }
  std::string operator()(const PersistCheckpoint& e) const {
    State named;
    apply(named, e.delta);
    return line_of(named);
  }
  std::string operator()(const WritePodInfo& e) const {
    std::string text = "podinfo " + e.uid;
    for (const auto& [name, assigned] : e.assigned) {
      if (!assigned.cpus.empty()) text += fmt::format(" {}={}", name, assigned.cpus.str());
    }
    return text;
  }
  std::string operator()(const SetCpuset& e) const {
    return fmt::format("set {} to {}{}", text_of(e.container), e.placement.cpus.str(),
                       e.placement.mems ? " mems " + e.placement.mems->str() : "");
  }
  std::string operator()(const StartContainer& e) const {
    return fmt::format("start {}#{} on {}{}", text_of(e.container), e.attempt,
                       e.placement.cpus.str(),
                       e.placement.mems ? " mems " + e.placement.mems->str() : "");
  }
  std::string operator()(const SetSharedCpus& e) const { return "share " + e.cpus.str(); }
  std::string operator()(const Isolate& e) const { return "isolate " + e.held.str(); }
  std::string operator()(const StopContainer& e) const {
    return fmt::format("stop {} {}s", text_of(e.container),
                       static_cast<double>(e.grace.count()) / 1000);
  }
  std::string operator()(const RemoveContainer& e) const {
    return "remove " + text_of(e.container);
  }
  std::string operator()(const RemovePodFiles& e) const { return "remove-files " + e.uid; }
  std::string operator()(const StartTimer& e) const {
    return fmt::format("timer {} {}s", text_of(e.timer),
                       static_cast<double>(e.after.count()) / 1000);
  }
  std::string operator()(const CancelTimer& e) const { return "cancel " + text_of(e.timer); }
  std::string operator()(const Observe&) const { return "observe"; }
  std::string operator()(const EmitEvent& e) const {
    const std::string about = text_of(e.about);
    return fmt::format("{}{}{}", e.reason, about.empty() ? "" : " ", about);
  }
  std::string operator()(const CountMetric& e) const {
    return e.more == 1 ? e.name : fmt::format("{} {}", e.name, e.more);
  }
  std::string operator()(const Reply& e) const {
    return fmt::format("reply {}{}{}", e.request, e.error ? " " + e.error->message : "",
                       e.grant ? " granted " + e.grant->cpus.str() : "");
  }
};

struct Syncs {
  int operator()(const SavePod& e) const { return e.durability == Durability::kSynced ? 1 : 0; }
  int operator()(const ForgetPod& e) const { return e.durability == Durability::kSynced ? 1 : 0; }
  int operator()(const PersistCheckpoint&) const { return 2; }
  template <typename Other>
  int operator()(const Other&) const {
    return 0;
  }
};

// What success answers; nothing for effects without a result, and for timers.
struct Answer {
  std::optional<Command> operator()(const SavePod& e) const {
    return PodSaved{.uid = e.record.pod.uid};
  }
  std::optional<Command> operator()(const ForgetPod& e) const { return PodForgotten{.uid = e.uid}; }
  std::optional<Command> operator()(const PersistCheckpoint& e) const {
    return CheckpointSaved{.revision = e.revision};
  }
  std::optional<Command> operator()(const WritePodInfo& e) const {
    return PodInfoWritten{.uid = e.uid};
  }
  std::optional<Command> operator()(const SetCpuset& e) const {
    return CpusetApplied{.container = e.container, .cpus = e.placement.cpus};
  }
  std::optional<Command> operator()(const SetSharedCpus& e) const {
    return SharedCpusApplied{.cpus = e.cpus};
  }
  std::optional<Command> operator()(const Isolate& e) const { return Isolated{.held = e.held}; }
  std::optional<Command> operator()(const StartContainer& e) const {
    return ContainerStarted{.container = e.container, .attempt = e.attempt};
  }
  template <typename Other>
  std::optional<Command> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::string line_of(const Effect& effect) { return std::visit(Line{}, effect); }

TestNode::TestNode(Topology topology, StaticConfig config, bool pins)
    : topology_(std::make_unique<Topology>(std::move(topology))) {
  if (!config.reserved.empty()) config.reserved_count = config.reserved.size();
  auto policy = StaticPolicy::make(*topology_, config);
  CHECK(policy.has_value());
  const Rules invariants = policy->rules();
  if (pins) {
    policy_ = std::make_unique<StaticPolicy>(*std::move(policy));
  } else {
    policy_ = std::make_unique<NonePolicy>();
  }
  empty_ = *policy_->start({});
  rules_ = std::make_unique<ManagerRules>(
      ManagerRules{.admission = {.topology = *topology_, .policy = *policy_},
                   .invariants = invariants,
                   .pins_cpus = pins,
                   .resize = {.exclusive_cpus = true}});
  run(Recover{.cpus = empty_, .online = topology_->cpus()});
}

CpuSet TestNode::assigned(const std::string& uid, const std::string& container) const {
  const Holding* holding = node_.placing.bookings.cpus.find({uid, container});
  return holding == nullptr ? CpuSet{} : holding->assigned;
}

std::vector<std::string> TestNode::send(const Command& command) {
  Outcome outcome = step(*rules_, std::move(node_), command, now_);
  node_ = std::move(outcome.node);
  last_ = std::move(outcome.effects);
  for (const std::string& violation : violations(*rules_, node_)) {
    std::fprintf(stderr, "%s\n", violation.c_str());
    CHECK(false && "the node is sound");
  }
  std::vector<std::string> lines;
  for (const Effect& effect : last_) {
    syncs_ += std::visit(Syncs{}, effect);
    if (std::holds_alternative<EmitEvent>(effect)) {
      events_.push_back(line_of(effect));
    } else if (std::holds_alternative<CountMetric>(effect)) {
      counts_.push_back(line_of(effect));
    } else if (const auto* persist = std::get_if<PersistCheckpoint>(&effect)) {
      apply(checkpoint_, persist->delta);
      lines.push_back(line_of(checkpoint_));
    } else {
      lines.push_back(line_of(effect));
    }
  }
  return lines;
}

std::vector<Command> TestNode::answers() const {
  std::vector<Command> commands;
  for (const Effect& effect : last_) {
    if (auto command = std::visit(Answer{}, effect)) commands.push_back(*std::move(command));
  }
  return commands;
}

std::vector<std::string> TestNode::run(const Command& command) {
  std::vector<std::string> lines = send(command);
  const std::vector<std::string> more = run_answers();
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

std::vector<std::string> TestNode::run_answers() {
  std::vector<std::string> lines;
  std::vector<Command> open = answers();
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Command command = open[next];
    for (std::string& line : send(command)) lines.push_back(std::move(line));
    for (Command& answer : answers()) open.push_back(std::move(answer));
  }
  last_.clear();
  return lines;
}

std::vector<std::string> TestNode::exit(const std::string& uid, const std::string& container,
                                        int code) {
  return run(ContainerExited{.container = {uid, container},
                             .attempt = pod(uid).record.containers.at(container).exits,
                             .exit = {.code = code, .finished_at = now_.wall}});
}

ResizePod TestNode::wish(const std::string& uid, const std::map<std::string, std::string>& amounts,
                         std::string_view resource) const {
  ResizePod command{.pod = wanted_pod(pod(uid).record), .request = 9};
  for (Container& container : command.pod.containers) {
    const auto amount = amounts.find(container.name);
    if (amount == amounts.end()) continue;
    for (ResourceList* list : {&container.resources.requests, &container.resources.limits}) {
      const auto found = list->find(resource);
      if (found != list->end()) found->second = *Quantity::parse(amount->second);
    }
  }
  return command;
}

void TestNode::wait(std::chrono::milliseconds time) {
  now_.steady += time;
  now_.wall += time;
}

std::vector<std::string> TestNode::take_events() { return std::exchange(events_, {}); }
std::vector<std::string> TestNode::take_counts() { return std::exchange(counts_, {}); }

std::vector<std::string> TestNode::recover(Recover command) {
  forget_everything();
  if (command.online.empty()) command.online = topology_->cpus();
  return send(command);
}

std::vector<std::string> TestNode::restart() {
  Recover found{.cpus = node_.placing.durable};
  for (const auto& [uid, pod] : node_.running.pods) {
    found.pods.push_back(pod.record);
    for (const auto& [name, container] : pod.containers) {
      if (!is_running(container.stage)) continue;
      found.seen.push_back({.container = {uid, name},
                            .attempt = pod.record.containers.at(name).attempt,
                            .running = true,
                            .cpus = confirmed_cpus(node_.placing, placed(uid).containers.at(name)),
                            .started_at = pod.record.containers.at(name).started_at});
    }
  }
  std::vector<std::string> lines = recover(std::move(found));
  const std::vector<std::string> more = run_answers();
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

void TestNode::forget_everything() {
  node_ = NodeState{};
  last_.clear();
  events_.clear();
  counts_.clear();
}

}  // namespace corehold
