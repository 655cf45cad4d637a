// SPDX-License-Identifier: Apache-2.0
//
// A small autoscaler's questions: a pod waits; which node groups would have a place for it,
// and which of the nodes that exist? And a scheduler's and an API server's: is a change of
// a node a reason to try again, and can a node do what an update asks for? Built outside of
// Corehold, with its installed library.
#include <features/fleet.h>
#include <features/known_features.h>
#include <features/match.h>
#include <features/node_groups.h>
#include <features/queueing.h>
#include <features/update_check.h>
#include <pod/pod_json.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr const char* kPod = R"({
  "kind": "Pod",
  "metadata": {"name": "vault-0", "namespace": "security"},
  "spec": {"containers": [{
    "name": "vault",
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "bindMountOptions": ["noexec"]}]
  }]}
})";

constexpr const char* kFeature = "VolumeBindMountOptions";

// A pod that is bound to node-1, with resources of its own for all of its containers.
std::string pod_with_cpus(const std::string& cpus) {
  return R"({"kind": "Pod", "metadata": {"name": "db-0"}, "spec": {"nodeName": "node-1",
    "containers": [{"name": "db"}], "resources": {"requests": {"cpu": ")" +
         cpus + R"("}}}})";
}

// The value, or the end of the program with the reason.
template <typename T>
T must(corehold::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

}  // namespace

int main() {
  using namespace corehold;
  const Registry& registry = extension_registry();
  const Version version = must(Version::parse("1.37.0"));
  const Pod pod = must(parse_pods_json(kPod)).front();
  const FeatureSet needs = must(registry.infer_for_scheduling(pod, version));

  // Nodes that exist, indexed once and asked often.
  Fleet fleet(registry);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<std::string> declared(i % 10 == 0 ? 1 : 0, kFeature);
    if (!fleet.set("node-" + std::to_string(i), registry.known(declared))) return 1;
  }
  const Fleet::Answer answer = must(fleet.answer(needs));
  std::printf("%zu of %zu nodes fit %s\n", answer.fitting_count, fleet.size(),
              display_name(pod).c_str());
  for (const Fleet::Shortage& shortage : answer.shortages) {
    std::printf("%zu %s\n", shortage.count,
                scheduling_message(must(registry.names(shortage.missing))).c_str());
  }

  // Groups whose nodes do not exist yet.
  const std::vector<NodeGroup> groups = {
      {.name = "new",
       .node = {.gates = {{kFeature, true}},
                .runtime_features = {"MountOptions"},
                .version = version}},
      {.name = "old-runtime", .node = {.gates = {{kFeature, true}}, .version = version}},
      {.name = "old", .node = {.version = must(Version::parse("1.34.0"))}},
  };
  for (const GroupAnswer& group : must(match_groups(registry, needs, groups))) {
    std::printf("group %s: %s\n", group.group.c_str(), group.fits() ? "would fit" : "would not");
    for (const Lack& lack : group.lacks) {
      for (const std::string& why : lack.obstacles) {
        std::printf("  %s: %s\n", lack.feature.c_str(), why.c_str());
      }
    }
  }

  // A node changes: is that a reason to try the waiting pod again?
  const FeatureSet before = registry.none();
  const FeatureSet now = registry.known(std::vector<std::string>{kFeature});
  const QueueHint hint = must(hint_node_changed(needs, before, now));
  std::printf("node-1 declares %s now: %s\n", kFeature,
              hint == QueueHint::kQueue ? "try again" : "wait on");

  // Somebody resizes a bound pod: can its node do that?
  const Pod old_pod = must(parse_pods_json(pod_with_cpus("2"))).front();
  const Pod new_pod = must(parse_pods_json(pod_with_cpus("4"))).front();
  const FeatureNode node{.name = "node-1", .declared_features = {kFeature}};
  const Result<void> checked = check_update(
      registry, {.old_pod = old_pod, .new_pod = new_pod, .subresource = "resize"}, &node, version);
  std::printf("resize: %s\n", checked ? "allowed" : checked.error().message.c_str());
  return 0;
}
