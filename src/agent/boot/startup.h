// SPDX-License-Identifier: Apache-2.0
//
// What a node finds under its root when it starts: the checkpoint and the pods. A file that does
// not verify is an error, or, with --recover, is moved aside and rebuilt from the containers that
// run; it is never dropped.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/node_document.h"
#include "config/config.h"
#include "manager/node_state.h"
#include "node/node_setup.h"
#include "state/checkpoint.h"
#include "store/pod_store.h"
#include "sys/log/log.h"

namespace corehold {

// What to do about files that do not verify.
enum class Damage { kRefuse, kMoveAside };

// What is lost with a file that is moved aside.
inline constexpr std::string_view kLostCpus =
    "the checkpoint was damaged and is moved aside: each container that runs keeps the CPUs it "
    "has; "
    "what was promised to it and CPUs held for containers that do not run are lost";
inline constexpr std::string_view kLostPods =
    "the store was damaged or missing, and what was left of it is moved aside: pods of which "
    "something runs are known again from "
    "the runtime; pods that wait or have ended, restart counts and exits are lost";

inline std::string checkpoint_path(const std::string& root) { return root + "/cpu_manager_state"; }
inline std::string store_path(const std::string& root) { return root + "/store.db"; }

CheckpointFormat checkpoint_format(const Config& config);

struct FoundCpus {
  enum class How {
    kLoaded,
    kNone,   // there was no checkpoint
    kMoved,  // it was damaged and has been moved aside
  };
  State state{};  // past Policy::start()
  How how = How::kLoaded;
};

// The node that the checkpoint must suit.
struct FoundOn {
  const std::string& root;
  const std::string& source;  // of the machine: "host", "xml:FILE", "synthetic:TEXT"
  const NodeSetup& setup;
  const Config& config;
};

// Fails with kCorrupt for a checkpoint that does not verify, and with kConflict for one of
// another policy, other reserved CPUs or another machine: the message says what differs
// and which command changes it.
Result<FoundCpus> load_cpus(const FoundOn& node, Damage damage, const Log& log);

struct FoundPods {
  PodStore store;
  std::vector<PodRecord> pods{};
  std::set<std::string> forgotten{};  // UIDs of pods that the store had once
  bool moved = false;                 // the store was damaged and has been moved aside
  bool had_checkpoint = false;        // a checkpoint was saved beside the store
  NodeDocument document;
  std::uint64_t first_version = 0;  // above all versions that clients have seen
};

// Keys of the store's notes.
inline constexpr const char* kNodeNote = "node";
inline constexpr const char* kVersionNote = "version";

// `cpus` is the checkpoint that was found beside the store. Fails with kCorrupt for a store that
// does not verify, and for one that is missing though the checkpoint or files under the root show
// that there were pods. A full disk is no reason to fail.
Result<FoundPods> load_pods(const std::string& root, const State& cpus, Damage damage,
                            const Log& log);

// Removes the temporary files of an agent that was killed while writing the checkpoint.
void remove_leftovers(const std::string& root, const Log& log);

// Moves the file of simulated containers aside (move_aside.h) that an agent with --simulate has
// left: it would say of the commands of this node that nothing confines them. For an agent that
// does not simulate. Fails with kIo.
Result<void> end_simulation(const std::string& root, const Log& log);

}  // namespace corehold
