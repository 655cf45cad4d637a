// SPDX-License-Identifier: Apache-2.0
//
// A node for tests of the manager: commands go in, effects come out as lines of text in
// their order. What the shell would do is done by answer().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manager/step.h"
#include "policy/static_policy.h"
#include "topology/topology.h"

namespace corehold {

// One line, such as "start db/main#0 on 2-3", "save db", "set web/main to 0-1",
// "persist shared 0-1 db/main 2-3", "timer restart db/main 10s".
std::string line_of(const Effect& effect);

class TestNode {
 public:
  // Policy static unless `pins` is false. Recovered with nothing there, the first
  // checkpoint saved.
  explicit TestNode(Topology topology, StaticConfig config = {.reserved_count = 1},
                    bool pins = true);

  const ManagerRules& rules() const { return *rules_; }
  NodeState& node() { return node_; }
  ManagerRules& rules() { return *rules_; }
  const RunPod& pod(const std::string& uid) const { return node_.running.pods.at(uid); }
  const PlacedPod& placed(const std::string& uid) const { return node_.placing.pods.at(uid); }
  CpuSet assigned(const std::string& uid, const std::string& container) const;
  State empty() const { return empty_; }

  // The effects of one command as lines; events and counters are kept apart.
  std::vector<std::string> send(const Command& command);
  // Sends it, then answers every effect with success until nothing is left to answer.
  std::vector<std::string> run(const Command& command);
  // The answers that success would bring for the effects of the last send().
  std::vector<Command> answers() const;
  // Sends all of these answers, and theirs, and returns the lines.
  std::vector<std::string> run_answers();

  std::vector<std::string> create(const Pod& pod, Source source = Source::kApi) {
    return run(CreatePod{.pod = pod, .source = source, .request = 1});
  }
  std::vector<std::string> exit(const std::string& uid, const std::string& container, int code);

  // What the pod wants, with other amounts for some containers; and with `cpus` for "main".
  ResizePod wish(const std::string& uid, const std::map<std::string, std::string>& amounts,
                 std::string_view resource = kCpu) const;
  std::vector<std::string> resize(const std::string& uid, const std::string& cpus) {
    return run(wish(uid, {{"main", cpus}}));
  }

  void wait(std::chrono::milliseconds time);
  const Now& time() const { return now_; }

  // "FailedScheduling db", "corehold_drift_repairs_total", since the last call; behind a counter
  // that counts several the number.
  std::vector<std::string> take_events();
  std::vector<std::string> take_counts();
  // What the store had to sync since the last call: one for each record that is not lazy, two for
  // each checkpoint.
  int take_syncs() { return std::exchange(syncs_, 0); }

  // A new life of the agent on what is stored: the records as they are in memory.
  std::vector<std::string> recover(Recover command);
  // The same on what the store and the checkpoint have, with everybody running as before.
  std::vector<std::string> restart();
  void forget_everything();

 private:
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<ManagerRules> rules_;
  State empty_{};
  State checkpoint_{};  // as it was last asked to be written
  NodeState node_{};
  Now now_{.steady = std::chrono::hours(1), .wall = std::chrono::hours(1000)};
  std::vector<Effect> last_{};
  std::vector<std::string> events_{};
  std::vector<std::string> counts_{};
  int syncs_ = 0;
};

}  // namespace corehold
