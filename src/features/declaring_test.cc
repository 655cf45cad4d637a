// SPDX-License-Identifier: Apache-2.0
#include "features/declaring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

const std::string kGate(kNodeDeclaredFeaturesGate);

NodeConfiguration node(std::string_view at) {
  return {.gates = {{kRestart, true}}, .version = version(at)};
}

NodeConfiguration with_gate(NodeConfiguration node, bool is_on) {
  node.gates[kGate] = is_on;
  return node;
}

TEST(Declaring, BeganWith135) {
  const std::string text = "version 1.34.9 is before 1.35, the first that declares features";
  EXPECT_THAT(silence(node("1.34.9")), Optional(text));
  EXPECT_THAT(silence(with_gate(node("1.34.9"), true)), Optional(text));
  EXPECT_EQ(silence(with_gate(node("1.35.0-alpha.1"), true)), std::nullopt);
}

TEST(Declaring, IsOffByDefaultIn135AndOnFrom136) {
  EXPECT_THAT(silence(node("1.35.0")),
              Optional(std::string("gate NodeDeclaredFeatures is off by default in 1.35")));
  EXPECT_EQ(silence(node("1.36.0-alpha.0")), std::nullopt);
  EXPECT_EQ(silence(node("1.37.0")), std::nullopt);
  EXPECT_EQ(silence({}), std::nullopt);
  EXPECT_THAT(silence(with_gate(node("1.37.0"), false)),
              Optional(std::string("gate NodeDeclaredFeatures is off")));
}

TEST(Declaring, NamesWhatTheMechanismLacksAndThenTheFeature) {
  const Registry& registry = kubernetes_registry();
  const Feature& feature = registry.feature(*registry.find("VolumeBindMountOptions"));
  EXPECT_THAT(why_not_declared(feature, with_gate(node("1.37.0"), false)),
              ElementsAre("gate NodeDeclaredFeatures is off", "gate VolumeBindMountOptions is off",
                          "the runtime lacks MountOptions"));
  EXPECT_THAT(why_not_declared(feature, {.gates = {{feature.name, true}},
                                         .runtime_features = {std::string(kRuntimeMountOptions)}}),
              IsEmpty());
}

TEST(Declaring, IsNothingWhileTheMechanismIsOff) {
  const Registry& registry = kubernetes_registry();
  EXPECT_EQ(text_of(registry, would_declare(registry, node("1.37.0"))), kRestart);
  EXPECT_EQ(text_of(registry, would_declare(registry, node("1.34.0"))), "");
  EXPECT_EQ(text_of(registry, would_declare(registry, with_gate(node("1.37.0"), false))), "");
}

// What a kubelet v1.37.0 with its default gates was seen to declare.
TEST(KubeletDefaults, AreThoseOfARecordedNode) {
  const Registry& registry = extension_registry();
  for (const std::string text : {"1.37.0", "v1.37.2", "1.37.0-rc.1"}) {
    const NodeConfiguration kubelet{.gates = *kubelet_default_gates(version(text)),
                                    .version = version(text)};
    EXPECT_EQ(text_of(registry, would_declare(registry, kubelet)),
              "ExtendWebSocketsToKubelet, InPlacePodLevelResourcesVerticalScaling, "
              "InPlacePodVerticalScalingInitContainers, RestartAllContainersOnContainerExits");
  }
  EXPECT_FALSE(kubelet_default_gates(version("1.36.5")));
  EXPECT_FALSE(kubelet_default_gates(version("1.38.0-alpha.0")));
}

}  // namespace
}  // namespace corehold
