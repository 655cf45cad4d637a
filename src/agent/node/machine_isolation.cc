// SPDX-License-Identifier: Apache-2.0
#include "agent/node/machine_isolation.h"

#include <utility>

#include <fmt/format.h>

#include "manager/placing/fence.h"

namespace corehold {
namespace {

IsolationChoice containers_only(std::string why_not) {
  return {.level = IsolationLevel::kContainers, .why_not = std::move(why_not)};
}

}  // namespace

IsolationChoice choose_isolation(const Config& config, Privilege privilege,
                                 const std::optional<FencePlaces>& places) {
  if (config.cpu_manager_policy != CpuManagerPolicy::kStatic) {
    return containers_only("policy none gives no exclusive CPUs");
  }
  const IsolationLevel wanted = config.isolation.level.value_or(IsolationLevel::kContainers);
  if (wanted == IsolationLevel::kContainers) return {};
  if (privilege != Privilege::kRoot) {
    return containers_only("the agent is not root, so that other tasks of the machine stay");
  }
  if (!places) {
    return containers_only("there is no cgroup to write, so that other tasks of the machine stay");
  }
  return {.level = wanted};
}

NodeView::Exclusive exclusive_condition(const IsolationChoice& choice, const FenceState& fence) {
  if (choice.level == IsolationLevel::kContainers) {
    return {.reason = "ContainersOnly",
            .message = fmt::format("only other containers are kept off held CPUs{}{}",
                                   choice.why_not.empty() ? "" : ": ", choice.why_not)};
  }
  if (!fence.confirmed) {
    return {.reason = "Starting", .message = "the rest of the machine is about to be looked at"};
  }
  if (!fence.leftovers.empty()) {
    return {.reason = "Intruders", .message = intruders_text(*fence.confirmed, fence.leftovers)};
  }
  return {.is_so = true,
          .reason = "Fenced",
          .message = fmt::format("held CPUs are kept free of the rest of the machine (level {})",
                                 name_of(choice.level))};
}

MachineIsolation::MachineIsolation(boost::asio::io_context& loop, const std::string& root,
                                   FencePlaces places)
    : isolator_(
          {.journal = journal_path(root), .owner = kJournalOwner, .places = std::move(places)},
          units_),
      worker_(loop) {}

void MachineIsolation::ask(const IsolationWish& wish, Done done) {
  const auto answer = std::make_shared<Result<IsolationReport>>(IsolationReport{});
  worker_.run([this, wish, answer] { *answer = isolator_.apply(wish); },
              [answer, done = std::move(done)] { done(std::move(*answer)); });
}

}  // namespace corehold
