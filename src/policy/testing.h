// SPDX-License-Identifier: Apache-2.0
//
// Node: a machine, a static policy and its state, for tests that ask for CPUs and
// look at what they get. Every answer is checked against the invariants.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "policy/static_policy.h"
#include "topology/testing.h"

namespace corehold {

// Any options that may be combined. min_shared_cpus is 0 to 3.
StaticOptions random_static_options(const Chance& chance);

class Node {
 public:
  // REQUIRES: a configuration that suits the machine.
  Node(Topology topology, const StaticConfig& config);

  // Asks CPUs for "pod/container" and applies the answer. Returns the CPUs granted, or
  // the message of the error, which changes nothing.
  std::string ask(std::string_view name, int cpus,
                  const std::optional<NodeSet>& affinity = std::nullopt,
                  Container::Kind kind = Container::Kind::kApp);
  // The same for every container of a pod, init containers first: "name=CPUs ...".
  std::string ask(const Pod& pod);
  void release(std::string_view name);

  const StaticPolicy& policy() const { return *policy_; }
  const State& state() const { return state_; }
  Code last_code() const { return last_code_; }  // of the last error

 private:
  std::string grant(const Request& request);
  void check() const;

  std::unique_ptr<Topology> topology_;  // the policy refers to it; a Node may move
  std::optional<StaticPolicy> policy_;
  State state_;
  std::map<std::string, std::set<std::string>> lasting_;  // apps and sidecars seen, by pod
  Code last_code_ = Code::kInvalid;
};

}  // namespace corehold
