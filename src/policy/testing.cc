// SPDX-License-Identifier: Apache-2.0
#include "policy/testing.h"

#include <cstdio>

#include <fmt/format.h>

#include "policy/request.h"

namespace corehold {
namespace {

ContainerRef ref_of(std::string_view name) {
  const std::size_t slash = name.find('/');
  CHECK(slash != std::string_view::npos);
  return {.pod = std::string(name.substr(0, slash)),
          .container = std::string(name.substr(slash + 1))};
}

}  // namespace

StaticOptions random_static_options(const Chance& chance) {
  const auto flip = [&chance] { return chance(0, 1) == 1; };
  StaticOptions options{.full_pcpus_only = flip(),
                        .strict_cpu_reservation = flip(),
                        .prefer_align_by_uncore = flip(),
                        .distribute_across_numa = flip(),
                        .distribute_across_cores = flip(),
                        .align_by_socket = flip(),
                        .min_shared_cpus = chance(0, 3)};
  if (options.full_pcpus_only || options.distribute_across_numa) {
    options.distribute_across_cores = false;
  }
  return options;
}

Node::Node(Topology topology, const StaticConfig& config)
    : topology_(std::make_unique<Topology>(std::move(topology))) {
  auto policy = StaticPolicy::make(*topology_, config);
  CHECK(policy.has_value());
  policy_ = *std::move(policy);
  auto started = policy_->start({});
  CHECK(started.has_value());
  state_ = *std::move(started);
  check();
}

std::string Node::ask(std::string_view name, int cpus, const std::optional<NodeSet>& affinity,
                      Container::Kind kind) {
  const ContainerRef ref = ref_of(name);
  std::set<std::string>& lasting = lasting_[ref.pod];
  if (kind != Container::Kind::kInit) lasting.insert(ref.container);
  return grant({.container = ref,
                .kind = kind,
                .cpus = cpus,
                .affinity = affinity,
                .lasting = {lasting.begin(), lasting.end()}});
}

std::string Node::ask(const Pod& pod) {
  std::string text;
  for (const Container* container : in_starting_order(pod)) {
    const std::string granted = grant(request_of(pod, *container, std::nullopt, {}));
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", container->name, granted.empty() ? "shared" : granted);
  }
  return text;
}

std::string Node::grant(const Request& request) {
  const auto plan = policy_->allocate(state_, request);
  if (!plan) {
    last_code_ = plan.error().code;
    return plan.error().message;
  }
  apply(state_, *plan);
  check();
  return plan->granted.str();
}

void Node::release(std::string_view name) {
  apply(state_, policy_->release(state_, ref_of(name)));
  check();
}

void Node::check() const {
  for (const Violation& violation : violations(state_, policy_->rules())) {
    std::fprintf(stderr, "%s\n", violation.message.c_str());
    CHECK(false && "the state is sound");
  }
}

}  // namespace corehold
