// SPDX-License-Identifier: Apache-2.0
//
// Lists of pods and nodes, with a line --- between, and changes of nodes behind another, one
// to a line: nothing crashes, every node fits or lacks something, before and after, and the
// fleet answers as a loop.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "features/fleet.h"
#include "features/known_features.h"
#include "features/match.h"
#include "features/plan/planner.h"
#include "features/update_check.h"
#include "pod/pod_json.h"

namespace {

using namespace corehold;

// What stands before the next line ---, taken off `text`.
std::string_view next_part(std::string_view& text) {
  constexpr std::string_view kLine = "\n---\n";
  const std::size_t at = std::min(text.find(kLine), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + kLine.size(), text.size()));
  return part;
}

// One to a line; those that are none are left out.
std::vector<NodeChange> changes_of(std::string_view text) {
  std::vector<NodeChange> changes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto change = NodeChange::parse(text.substr(0, end))) changes.push_back(*change);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return changes;
}

void check_answer(const NeedAnswer& answer, std::size_t all_nodes) {
  std::size_t nodes = answer.fits.size();
  for (const NodesLacking& lacking : answer.others) {
    CHECK(!lacking.features.empty() && !lacking.nodes.empty());
    nodes += lacking.nodes.size();
  }
  CHECK(nodes == all_nodes);
}

void check_plan(const FeaturePlan& plan) {
  for (const PodPlan& pod : plan.pods) CHECK(pod.need < plan.needs.size());
  for (const FeatureNeed& need : plan.needs) {
    check_answer(need.now, plan.nodes);
    if (!need.then) continue;
    check_answer(need.then->answer, plan.nodes);
    CHECK(need.now.fits.size() + need.then->gains.size() - need.then->losses.size() ==
          need.then->answer.fits.size());
  }
}

void check_fleet(const std::vector<Pod>& pods, const std::vector<FeatureNode>& nodes,
                 const Version& target) {
  const Registry& registry = extension_registry();
  Fleet fleet(registry);
  for (const FeatureNode& node : nodes) {
    CHECK(fleet.set(node.name, declared_set(registry, node)).has_value());
  }
  for (const Pod& pod : pods) {
    const FeatureSet required = *registry.infer_for_scheduling(pod, target);
    const auto fitting = fleet.names(*fleet.fitting(required));
    for (const FeatureNode& node : nodes) {
      const bool fits = match(required, *fleet.declared(node.name))->fits;
      CHECK(std::binary_search(fitting.begin(), fitting.end(), node.name) == fits);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pods = parse_pods_json(next_part(text));
  const auto nodes = read_nodes(next_part(text));
  const std::vector<NodeChange> changes = changes_of(next_part(text));
  const Version target = *Version::parse("1.37.0");
  if (!nodes) CHECK(!nodes.error().message.empty() && nodes.error().message.size() < 100'000);
  if (!pods || !nodes) return 0;
  const auto plan = plan_features(extension_registry(), *pods, *nodes, changes, target);
  if (plan) check_plan(*plan);
  check_fleet(*pods, *nodes, target);
  for (std::size_t i = 1; i < pods->size(); ++i) {
    const FeatureUpdate update{.old_pod = (*pods)[i - 1], .new_pod = (*pods)[i]};
    const FeatureNode* node = nodes->empty() ? nullptr : &nodes->front();
    const auto checked = check_update(extension_registry(), update, node, target);
    CHECK(checked.has_value() || !checked.error().message.empty());
  }
  return 0;
}
