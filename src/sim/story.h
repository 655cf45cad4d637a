// SPDX-License-Identifier: Apache-2.0
//
// Random stories for tests: a node of any shape and what may happen to it. The same seed
// tells the same story.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "manager/step.h"
#include "node/node_setup.h"
#include "sim/world.h"
#include "topology/topology.h"

namespace corehold {

// A source of chance that can be copied.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  // From low to high, both included.
  int roll(int low, int high);
  bool chance(int percent) { return roll(1, 100) <= percent; }

 private:
  std::uint64_t state_;
};

// A machine with its configuration. Stays where it is made: stories refer to it.
struct StoryNode {
  std::unique_ptr<Topology> topology{};
  Config config{};
  std::unique_ptr<NodeSetup> setup{};
  std::unique_ptr<ManagerRules> rules{};
};
StoryNode random_node(Dice& dice, int most_cpus);
// One that resizes exclusive CPUs with this delay; all else is as by default.
StoryNode delaying_node(Topology topology, std::chrono::milliseconds delay);

// One of any shape: init containers, sidecars and apps, exclusive or not.
Pod random_pod(Dice& dice, const StoryNode& node, int number);

// CPUs that somebody else sets a container to, at least one.
CpuSet random_cpus(Dice& dice, const Topology& topology);
// CPUs that go offline, often none, and never the first.
CpuSet random_offline(Dice& dice, const Topology& topology);

// How often things go wrong, in percent of the occasions.
struct Trouble {
  int faults = 4;
  int drift = 3;
  int offline = 1;
  int crashes = 1;
  int restores = 0;  // files below the agent's root are changed while it is down
};

class Story {
 public:
  Story(const StoryNode& node, std::uint64_t seed, Trouble trouble);

  // Something happens. False: a promise is broken.
  bool act();
  // Makes a move of the world; an effect may fail.
  void make(const World::Move& move);
  void make_together(const std::vector<World::Move>& moves);
  // A person asks for something, a container ends, or something goes wrong.
  void happen();
  // Somebody asks for another number of CPUs for containers of a pod.
  void resize_pod();

  World& world() { return world_; }
  const World& world() const { return world_; }
  Dice& dice() { return dice_; }

  // Lets the world come to rest and says what is wrong then: what World::unsettled() finds,
  // pods that somebody was told of and that are gone, pods that wait although they fit.
  std::vector<std::string> finish();

  // How often what has become of the files below the root.
  struct Restores {
    std::uint64_t checkpoints = 0;  // put back as they were earlier
    std::uint64_t records = 0;      // the same
    std::uint64_t lost = 0;         // checkpoints or records
    std::uint64_t roots = 0;        // the next agent had another root
    std::uint64_t running = 0;      // containers that ran on meanwhile
  };
  const Restores& restores() const { return restores_; }

 private:
  struct Request {
    std::string uid;
    bool deletes = false;
    Source source = Source::kApi;
    int edit = 0;                 // which one, if it is one
    std::optional<Pod> resize{};  // what was asked for, if it is one
  };

  Fault random_fault(const Effect& effect);
  void create_pod();
  void delete_pod();
  void edit_pod();
  // Edits that were confirmed and that the store does not have.
  void find_lost_edits(std::vector<std::string>& found) const;
  // The last resize of a pod, confirmed and not what the store has.
  void find_lost_resizes(std::vector<std::string>& found) const;
  int random_code();  // for a container that ends
  void end_container();
  void drift();
  void change_online();
  void crash();
  // The files are copied, for a later restore().
  void back_up();
  // The agent ends, somebody changes the files below its root, and an agent starts.
  void restore();
  void change_root();
  // Somebody is to keep only CPUs that nobody can run on now.
  bool is_shrink_to_offline_cpus() const;
  std::vector<ContainerRef> running() const;

  const StoryNode* node_;  // never null
  Dice dice_;
  Trouble trouble_;
  World world_;
  std::map<RequestId, Request> requests_{};
  int pods_made_ = 0;
  int edits_made_ = 0;
  std::vector<Disk> backups_{};
  std::vector<Disk> roots_{};  // but for the one that is in use
  Restores restores_{};
};

}  // namespace corehold
