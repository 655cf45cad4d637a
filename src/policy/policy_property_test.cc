// SPDX-License-Identifier: Apache-2.0
//
// Random machines, options and histories: the invariants hold after every command,
// and what is released is restored.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policy/static_policy.h"
#include "policy/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
bool flip() { return chance(0, 1) == 1; }

// A node with a random history behind it.
struct History {
  Topology topology = random_machine(chance, 48);
  std::optional<StaticPolicy> policy;
  State state;

  History() {
    RC_PRE(topology.cpu_count() > 1);
    const int count = chance(1, std::max(1, topology.cpu_count() / 4));
    StaticConfig config{.options = random_static_options(chance), .reserved_count = count};
    if (flip()) {
      config.reserved = random_subset(chance, topology, topology.cpus());
      config.reserved_count = config.reserved.size();
      RC_PRE(config.reserved_count > 0 && config.reserved_count < topology.cpu_count());
    }
    auto made = StaticPolicy::make(topology, config);
    RC_PRE(made.has_value());
    policy = *std::move(made);
    auto started = policy->start({});
    RC_ASSERT(started.has_value());
    state = *std::move(started);
  }

  // Containers c0 and c1 of every pod are init containers, c2 a sidecar, c3 and c4 apps.
  Request random_request() const {
    constexpr std::array kKinds{Container::Kind::kInit, Container::Kind::kInit,
                                Container::Kind::kSidecar, Container::Kind::kApp,
                                Container::Kind::kApp};
    const int which = chance(0, 4);
    Request request{.container = {.pod = fmt::format("p{}", chance(0, 5)),
                                  .container = fmt::format("c{}", which)},
                    .kind = kKinds[static_cast<std::size_t>(which)],
                    .cpus = chance(0, std::max(2, topology.cpu_count() / 2)),
                    .lasting = {"c2", "c3", "c4"}};
    if (flip()) {
      NodeSet nodes;
      for (const auto& node : topology.nodes()) {
        if (flip()) nodes.insert(node.id);
      }
      request.affinity = nodes;
    }
    return request;
  }

  void check() const {
    Rules rules = policy->rules();
    rules.init_containers.emplace();
    for (int pod = 0; pod <= 5; ++pod) {
      for (const char* name : {"c0", "c1"}) {
        rules.init_containers->insert({fmt::format("p{}", pod), name});
      }
    }
    const auto found = violations(state, rules);
    if (!found.empty()) RC_FAIL(found.front().message);
  }

  // One random command; the state is checked after it.
  void step() {
    if (chance(0, 2) == 0) {
      const Request request = random_request();
      apply(state, policy->release(state, request.container));
    } else if (const auto plan = policy->allocate(state, random_request())) {
      apply(state, *plan);
    }
    check();
  }
};

RC_GTEST_PROP(StaticPolicyProperty, InvariantsHoldAfterEveryCommand, ()) {
  History history;
  history.check();
  const int steps = chance(1, 30);
  for (int i = 0; i < steps; ++i) history.step();
}

RC_GTEST_PROP(StaticPolicyProperty, AllocateThenReleaseRestores, ()) {
  History history;
  const int steps = chance(0, 12);
  for (int i = 0; i < steps; ++i) history.step();
  const State before = history.state;
  Request request = history.random_request();
  request.container.pod = "newcomer";
  request.kind = Container::Kind::kApp;
  const auto plan = history.policy->allocate(history.state, request);
  RC_PRE(plan.has_value());
  RC_ASSERT(plan->granted.size() == request.cpus);
  apply(history.state, *plan);
  history.check();
  apply(history.state, history.policy->release(history.state, request.container));
  RC_ASSERT(history.state.shared == before.shared);
  RC_ASSERT(history.state.pods == before.pods);
}

RC_GTEST_PROP(StaticPolicyProperty, SameStateAndRequestSameAnswer, ()) {
  History history;
  const int steps = chance(0, 8);
  for (int i = 0; i < steps; ++i) history.step();
  const Request request = history.random_request();
  const auto once = history.policy->allocate(history.state, request);
  const auto again = history.policy->allocate(history.state, request);
  RC_ASSERT(once.has_value() == again.has_value());
  if (once) {
    RC_ASSERT(once->granted == again->granted);
  } else {
    RC_ASSERT(once.error() == again.error());
  }
}

RC_GTEST_PROP(StaticPolicyProperty, RefusesMoreThanTheMachineHas, ()) {
  const History history;
  Request request = history.random_request();
  request.cpus = history.topology.cpu_count() + chance(0, 5);
  RC_ASSERT(!history.policy->allocate(history.state, request).has_value());
}

RC_GTEST_PROP(StaticPolicyProperty, ARestartAcceptsWhatItLeft, ()) {
  History history;
  const int steps = chance(0, 12);
  for (int i = 0; i < steps; ++i) history.step();
  const auto started = history.policy->start(history.state);
  RC_ASSERT(started.has_value());
  RC_ASSERT(*started == history.state);
  RC_ASSERT(history.policy->check_start(*started).has_value());
}

}  // namespace
}  // namespace corehold
