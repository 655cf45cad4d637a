// SPDX-License-Identifier: Apache-2.0
//
// A small autoscaler's question: a pod waits; which node groups would have a place for it,
// and which of the nodes that exist? Built outside of Corehold, with its installed library.
#include <features/fleet.h>
#include <features/known_features.h>
#include <features/match.h>
#include <features/node_groups.h>
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
    std::printf("group %s: %s\n", group.group.c_str(),
                group.fits() ? "would fit" : group.lacks.front().obstacles.front().c_str());
  }
  return 0;
}
