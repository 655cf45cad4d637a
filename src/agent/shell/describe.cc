// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/describe.h"

#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Effect>> kEffectNames{
    "SavePod",        "ForgetPod",  "PersistCheckpoint", "WritePodInfo",  "SetCpuset",
    "SetSharedCpus",  "Isolate",    "StartContainer",    "StopContainer", "RemoveContainer",
    "RemovePodFiles", "StartTimer", "CancelTimer",       "Observe",       "EmitEvent",
    "CountMetric",    "Reply"};
constexpr std::array<std::string_view, std::variant_size_v<Command>> kCommandNames{
    "Recover",           "CreatePod",        "UpdatePod",     "ResizePod",
    "SetCordon",         "DeletePod",        "PodSaved",      "PodForgotten",
    "CheckpointSaved",   "PodInfoWritten",   "CpusetApplied", "CpusetFailed",
    "SharedCpusApplied", "SharedCpusFailed", "Isolated",      "IsolateFailed",
    "ContainerStarted",  "StartFailed",      "TimerFired",    "Observed",
    "ObserveFailed",     "ContainerExited",  "Asked",         "Synchronized",
    "PodRemoved",        "CgroupCreated"};
static_assert(std::is_same_v<std::variant_alternative_t<16, Effect>, Reply>);
static_assert(std::is_same_v<std::variant_alternative_t<25, Command>, CgroupCreated>);

std::string_view kind_name(Ask::Kind kind) {
  switch (kind) {
    case Ask::Kind::kCreate:
      return "create";
    case Ask::Kind::kStart:
      return "start";
    case Ask::Kind::kResize:
      return "resize";
    case Ask::Kind::kStop:
      break;
  }
  return "stop";
}

std::string_view kind_name(TimerKey::Kind kind) {
  switch (kind) {
    case TimerKey::Kind::kRestart:
      return "restart";
    case TimerKey::Kind::kRetry:
      return "retry";
    case TimerKey::Kind::kSaveRetry:
      return "save-retry";
    case TimerKey::Kind::kDelay:
      return "delay";
    case TimerKey::Kind::kAnswer:
      return "answer";
    case TimerKey::Kind::kFence:
      return "fence";
    case TimerKey::Kind::kReconcile:
      break;
  }
  return "reconcile";
}

// Collects the fields of one line.
class Fields {
 public:
  Fields(std::string_view key, std::string_view name, const NodeState& node) : node_(node) {
    add(key, std::string(name));
  }

  void add(std::string_view key, std::string value) { all_.emplace_back(key, std::move(value)); }
  void about(const ContainerRef& ref) {
    LogFields fields = fields_of(ref, node_);
    std::move(fields.begin(), fields.end(), std::back_inserter(all_));
  }
  void pod(const std::string& uid) { about({.pod = uid, .container = ""}); }
  void error(const std::optional<Error>& error) {
    if (error) add("error", error->message);
  }
  void timer(const TimerKey& key) {
    add("timer", std::string(kind_name(key.kind)));
    about(key.about);
  }
  LogFields take() { return std::move(all_); }

  void tell(const SavePod& effect) { pod(effect.record.pod.uid); }
  void tell(const ForgetPod& effect) { pod(effect.uid); }
  void tell(const PersistCheckpoint& effect) {
    add("revision", fmt::to_string(effect.revision));
    add("shared", effect.delta.shared.str());
  }
  void tell(const WritePodInfo& effect) { pod(effect.uid); }
  void tell(const SetCpuset& effect) {
    about(effect.container);
    add("cpus", effect.placement.cpus.str());
    if (effect.placement.mems) add("mems", effect.placement.mems->str());
  }
  void tell(const StartContainer& effect) {
    about(effect.container);
    add("attempt", fmt::to_string(effect.attempt));
    add("cpus", effect.placement.cpus.str());
    if (effect.placement.mems) add("mems", effect.placement.mems->str());
  }
  void tell(const SetSharedCpus& effect) { add("cpus", effect.cpus.str()); }
  void tell(const Isolate& effect) { add("held", effect.held.str()); }
  void tell(const StopContainer& effect) {
    about(effect.container);
    add("grace", fmt::format("{}ms", effect.grace.count()));
  }
  void tell(const RemoveContainer& effect) { about(effect.container); }
  void tell(const RemovePodFiles& effect) { pod(effect.uid); }
  void tell(const StartTimer& effect) {
    timer(effect.timer);
    add("after", fmt::format("{}ms", effect.after.count()));
  }
  void tell(const CancelTimer& effect) { timer(effect.timer); }
  void tell(const Observe&) {}
  void tell(const EmitEvent& effect) {
    about(effect.about);
    add("reason", effect.reason);
  }
  void tell(const CountMetric& effect) {
    add("metric", effect.name);
    for (const auto& [label, value] : effect.labels)
      add("label", fmt::format("{}:{}", label, value));
  }
  void tell(const Reply& effect) {
    add("request", fmt::to_string(effect.request));
    error(effect.error);
    if (effect.grant) add("cpus", effect.grant->cpus.str());
  }

  void tell(const Recover& command) {
    add("pods", fmt::to_string(command.pods.size()));
    add("seen", fmt::to_string(command.seen.size()));
    add("online", command.online.str());
  }
  void tell(const CreatePod& command) {
    add("pod", display_name(command.pod));
    add("uid", command.pod.uid);
  }
  void tell(const UpdatePod& command) { pod(command.pod.uid); }
  void tell(const ResizePod& command) { pod(command.pod.uid); }
  void tell(const SetCordon& command) { add("cordoned", command.cordoned ? "true" : "false"); }
  void tell(const DeletePod& command) { pod(command.uid); }
  void tell(const PodSaved& command) {
    pod(command.uid);
    error(command.error);
  }
  void tell(const PodForgotten& command) {
    pod(command.uid);
    error(command.error);
  }
  void tell(const CheckpointSaved& command) {
    add("revision", fmt::to_string(command.revision));
    error(command.error);
  }
  void tell(const PodInfoWritten& command) {
    pod(command.uid);
    error(command.error);
  }
  void tell(const CpusetApplied& command) {
    about(command.container);
    add("cpus", command.cpus.str());
  }
  void tell(const CpusetFailed& command) {
    about(command.container);
    add("cpus", command.cpus.str());
    error(command.error);
  }
  void tell(const SharedCpusApplied& command) { add("cpus", command.cpus.str()); }
  void tell(const SharedCpusFailed& command) {
    add("cpus", command.cpus.str());
    error(command.error);
  }
  void tell(const Isolated& command) {
    add("held", command.held.str());
    add("leftovers", fmt::to_string(command.leftovers.size()));
  }
  void tell(const IsolateFailed& command) {
    add("held", command.held.str());
    error(command.error);
  }
  void tell(const ContainerStarted& command) {
    about(command.container);
    add("attempt", fmt::to_string(command.attempt));
  }
  void tell(const StartFailed& command) {
    about(command.container);
    add("attempt", fmt::to_string(command.attempt));
    error(command.error);
  }
  void tell(const TimerFired& command) { timer(command.timer); }
  void tell(const Observed& command) {
    add("seen", fmt::to_string(command.seen.size()));
    add("online", command.online.str());
  }
  void tell(const ObserveFailed& command) { error(command.error); }
  void tell(const ContainerExited& command) {
    about(command.container);
    add("attempt", fmt::to_string(command.attempt));
    add("code", fmt::to_string(command.exit.code));
  }
  void tell(const Asked& command) {
    about(command.ask.container);
    add("asks", std::string(kind_name(command.ask.kind)));
    add("attempt", fmt::to_string(command.ask.attempt));
    add("request", fmt::to_string(command.request));
  }
  void tell(const Synchronized& command) {
    add("seen", fmt::to_string(command.seen.size()));
    add("online", command.online.str());
  }
  void tell(const PodRemoved& command) { pod(command.uid); }
  void tell(const CgroupCreated&) {}

 private:
  const NodeState& node_;
  LogFields all_{};
};

}  // namespace

std::string_view name_of(const Effect& effect) { return kEffectNames[effect.index()]; }
std::string_view name_of(const Command& command) { return kCommandNames[command.index()]; }

std::string shown_pod(const std::string& uid, const NodeState& node) {
  const auto found = node.placing.pods.find(uid);
  return found == node.placing.pods.end() ? uid : display_name(found->second.pod);
}

LogFields fields_of(const ContainerRef& about, const NodeState& node) {
  LogFields fields;
  if (!about.pod.empty()) fields.emplace_back("pod", shown_pod(about.pod, node));
  if (!about.container.empty()) fields.emplace_back("container", about.container);
  return fields;
}

LogFields fields_of(const Effect& effect, const NodeState& node) {
  Fields fields("effect", name_of(effect), node);
  std::visit([&fields](const auto& typed) { fields.tell(typed); }, effect);
  return fields.take();
}

LogFields fields_of(const Command& command, const NodeState& node) {
  Fields fields("command", name_of(command), node);
  std::visit([&fields](const auto& typed) { fields.tell(typed); }, command);
  return fields.take();
}

}  // namespace corehold
