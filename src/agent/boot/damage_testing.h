// SPDX-License-Identifier: Apache-2.0
//
// For tests of a node whose files are damaged: a small disk with a root on it that can be filled,
// made read-only, copied and brought back, and a node that works on it with the real manager and
// the real store. Its containers are only written down here.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "agent/boot/startup.h"
#include "agent/commit/disk_store.h"
#include "manager/step.h"
#include "node/node_setup.h"
#include "serve/credentials.h"

namespace corehold {

// What a file has: its content, and blocks that may be more. A symbolic link has only a target.
struct KeptFile {
  std::string content{};
  off_t allocated = 0;
  mode_t mode = 0600;
  std::string target{};
};
using Snapshot = std::map<std::string, KeptFile>;  // by path below the root

// A directory, and where this process may mount, a file system of its own in a mount namespace of
// its own: nothing is left of it when the process ends.
class SmallDisk {
 public:
  SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  const std::string& root() const { return root_; }
  bool can_be_filled() const { return is_mounted_; }
  void fill() const;
  void free() const;
  // Whether it worked.
  bool set_read_only(bool is_read_only) const;

  Snapshot copy() const;
  void bring_back(const Snapshot& snapshot) const;

 private:
  std::string directory_;
  std::string root_;
  bool is_mounted_ = false;
};

// What a node must find again.
struct SavedNode {
  std::map<std::string, PodRecord> pods{};
  State cpus{};
};

// What outlives the agent, besides files.
using Containers = std::map<ContainerRef, SeenContainer>;

struct TestSetup {
  TestSetup();
  TestSetup(const TestSetup&) = delete;
  TestSetup& operator=(const TestSetup&) = delete;

  Topology topology;
  Config config;
  NodeSetup setup;
  ManagerRules rules;
  std::string source = "synthetic";
};

struct FoundNode {
  FoundCpus cpus;
  FoundPods pods;
  Credentials credentials;
};
// As an agent does at its start, with its locks and what it needs to listen, but for the first
// command of the manager.
Result<FoundNode> find_node(const TestSetup& setup, const std::string& root,
                            const Containers& containers, Damage damage);

// An agent from its first command on.
class NodeLife {
 public:
  NodeLife(const TestSetup& setup, const std::string& root, Containers& containers,
           FoundNode found);
  NodeLife(const NodeLife&) = delete;
  NodeLife& operator=(const NodeLife&) = delete;

  // Takes the command and all that follows from it. Ends early, as if it had been killed, after
  // that many steps.
  void take(const Command& command, int steps = 1000);

  const SavedNode& saved() const { return saved_; }
  const NodeState& node() const { return node_; }
  // The error that the last request was answered with.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  struct Act;

  Result<void> tell_pod(const WritePodInfo& effect) const;
  void commit(const StoreBatch& batch);

  const TestSetup& setup_;
  std::string root_;
  Containers& containers_;
  DiskStore store_;
  NodeState node_{};
  SavedNode saved_{};
  std::vector<Command> queue_{};
  std::optional<Error> refusal_{};
  Now now_{.steady = std::chrono::hours(1), .wall = std::chrono::hours(500'000)};
};

}  // namespace corehold
