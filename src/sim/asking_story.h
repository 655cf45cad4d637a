// SPDX-License-Identifier: Apache-2.0
//
// Random stories of a node on which somebody else runs the containers: a pretend kubelet with its
// runtime asks, waits or gives up waiting, starts what it is granted, and tells of it or not. It
// sets cpusets back to what it remembers, connects anew, and goes on while the agent is away.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/story.h"
#include "sim/world.h"

namespace corehold {

// The same node, where somebody else runs the containers.
void let_somebody_else_run(StoryNode& node);

class AskingStory {
 public:
  // REQUIRES: let_somebody_else_run(node).
  AskingStory(const StoryNode& node, std::uint64_t seed, Trouble trouble);

  // Something happens. False: a promise is broken.
  bool act();
  // Lets everything come to rest and says what is wrong then.
  std::vector<std::string> finish();

  const World& world() const { return world_; }
  void watch(StateChanges& changes) { world_.watch(changes); }
  std::uint64_t questions() const { return next_request_ - 1; }
  std::uint64_t grants() const { return grants_; }
  std::uint64_t connections() const { return connections_; }
  std::uint64_t crashes() const { return crashes_; }

 private:
  // How far the runtime is with a container.
  enum class Phase { kNothing, kCreated, kRunning, kEnded };
  struct KubeContainer {
    Phase phase = Phase::kNothing;
    int attempt = 0;
    int code = 0;                         // kEnded
    std::optional<RequestId> question{};  // it waits for the answer
    Ask::Kind kind = Ask::Kind::kCreate;  // of the question
    bool is_resized = true;               // it has what its pod asks for
    std::string refusal{};                // the last
  };
  struct KubePod {
    Pod pod{};
    std::map<std::string, KubeContainer> containers{};
  };

  void happen();
  void create_pod();
  void delete_pod();
  void resize_pod();
  // What the kubelet does next about each container of the pod, or about one.
  void go_on(const std::string& uid);
  void go_on(const ContainerRef& ref);
  bool may_start(const KubePod& pod, const std::string& name) const;
  void ask(const ContainerRef& ref, Ask::Kind kind);
  // The runtime has the answer.
  void hear(const ContainerRef& ref);
  void take_grant(const ContainerRef& ref, KubeContainer& container, const Grant& grant);
  void end_container(const ContainerRef& ref, int code);
  void set_back();
  void change_online();
  void connect_anew();
  void crash();
  void forget_questions();
  // What was granted is right at the moment of the answer.
  void look_at_answers();
  void tell(const Command& command);
  std::vector<ContainerRef> refs(Phase phase) const;
  KubeContainer& at(const ContainerRef& ref) {
    return pods_.at(ref.pod).containers.at(ref.container);
  }
  std::string any_pod();

  const StoryNode* node_;  // never null
  Dice dice_;
  Trouble trouble_;
  World world_;
  std::map<std::string, KubePod> pods_{};
  std::map<RequestId, ContainerRef> asked_{};  // not answered yet
  int pods_made_ = 0;
  RequestId next_request_ = 1;
  std::uint64_t grants_ = 0;
  std::uint64_t connections_ = 0;
  std::uint64_t crashes_ = 0;
};

}  // namespace corehold
