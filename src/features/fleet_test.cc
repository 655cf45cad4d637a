// SPDX-License-Identifier: Apache-2.0
//
// A fleet answers as a loop over its nodes would, whatever happened to them before.
#include "features/fleet.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "features/known_features.h"
#include "features/match.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kBind = "VolumeBindMountOptions";

TEST(Fleet, SaysWhoFitsAndWhatTheOthersLack) {
  const Registry& registry = kubernetes_registry();
  Fleet fleet(registry);
  ASSERT_TRUE(fleet.set("none", registry.none()));
  ASSERT_TRUE(fleet.set("both", features_of(registry, {kRestart, kBind})));
  ASSERT_TRUE(fleet.set("bind-1", features_of(registry, {kBind})));
  ASSERT_TRUE(fleet.set("bind-0", features_of(registry, {kBind})));
  const auto answer = fleet.answer(features_of(registry, {kRestart, kBind}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->fitting_count, 1U);
  EXPECT_THAT(fleet.names(answer->fitting), ElementsAre("both"));
  ASSERT_EQ(answer->shortages.size(), 2U);
  EXPECT_EQ(text_of(registry, answer->shortages[0].missing), kRestart);
  EXPECT_THAT(fleet.names(answer->shortages[0].nodes), ElementsAre("bind-0", "bind-1"));
  EXPECT_EQ(text_of(registry, answer->shortages[1].missing), kRestart + ", " + kBind);
  EXPECT_EQ(answer->shortages[1].count, 1U);
}

TEST(Fleet, EveryNodeFitsAPodThatNeedsNothing) {
  Fleet fleet(kubernetes_registry());
  for (int i = 0; i < 130; ++i) {
    ASSERT_TRUE(fleet.set("n" + std::to_string(i), kubernetes_registry().none()));
  }
  const auto answer = fleet.answer(kubernetes_registry().none());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->fitting_count, 130U);
  EXPECT_THAT(answer->shortages, IsEmpty());
}

TEST(Fleet, ForgetsANodeAndItsFeatures) {
  const Registry& registry = kubernetes_registry();
  Fleet fleet(registry);
  ASSERT_TRUE(fleet.set("a", features_of(registry, {kRestart})));
  fleet.remove("a");
  fleet.remove("never there");
  EXPECT_EQ(fleet.size(), 0U);
  ASSERT_TRUE(fleet.set("b", registry.none()));  // takes the place of a
  EXPECT_EQ(fleet.fitting(features_of(registry, {kRestart}))->count(), 0U);
  EXPECT_EQ(fleet.declared("a"), std::nullopt);
}

TEST(Fleet, RefusesSetsOfAnotherRegistry) {
  Fleet fleet(kubernetes_registry());
  const Error mixed{Code::kConflict, "the feature set is of another registry than the fleet"};
  EXPECT_EQ(fleet.set("a", extension_registry().none()).error(), mixed);
  EXPECT_EQ(fleet.fitting(extension_registry().none()).error(), mixed);
  EXPECT_EQ(fleet.answer(extension_registry().none()).error(), mixed);
  EXPECT_EQ(fleet.size(), 0U);
}

TEST(NodeMask, CountsEveryBit) {
  for (std::size_t words = 0; words < 40; ++words) {
    NodeMask mask;
    mask.grow(words);
    std::size_t expected = 0;
    for (std::size_t place = 0; place < words * 64; place += 1 + place % 5) {
      mask.insert(place);
      ++expected;
    }
    EXPECT_EQ(mask.count(), expected);
  }
}

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

FeatureSet random_set(const Registry& registry, int odds) {
  FeatureSet set = registry.none();
  for (std::size_t i = 0; i < registry.features().size(); ++i) {
    if (chance(1, odds) == 1) set.insert(FeatureId(static_cast<int>(i)));
  }
  return set;
}

using Nodes = std::map<std::string, FeatureSet>;

// The answers of a loop over all nodes: names by what they lack.
std::map<std::string, std::vector<std::string>> by_shortage(const Registry& registry,
                                                            const Nodes& nodes,
                                                            const FeatureSet& required) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [name, declared] : nodes) {
    names[text_of(registry, match(required, declared)->missing)].push_back(name);
  }
  return names;
}

RC_GTEST_PROP(FleetProperty, AnswersAsALoopOverAllNodes, ()) {
  const Registry& registry = extension_registry();
  Fleet fleet(registry);
  Nodes nodes;
  const int steps = chance(1, 200);
  for (int step = 0; step < steps; ++step) {
    const std::string name = "n" + std::to_string(chance(0, 150));
    if (chance(0, 3) == 0) {
      fleet.remove(name);
      nodes.erase(name);
      continue;
    }
    const FeatureSet declared = random_set(registry, 2);
    RC_ASSERT(fleet.set(name, declared).has_value());
    nodes.insert_or_assign(name, declared);
  }
  RC_ASSERT(fleet.size() == nodes.size());
  for (const auto& [name, declared] : nodes) RC_ASSERT(fleet.declared(name) == declared);
  for (int question = 0; question < 5; ++question) {
    const FeatureSet required = random_set(registry, chance(1, 4));
    const auto expected = by_shortage(registry, nodes, required);
    const auto answer = fleet.answer(required);
    RC_ASSERT(answer.has_value());
    std::map<std::string, std::vector<std::string>> actual;
    if (answer->fitting_count > 0) actual[""] = fleet.names(answer->fitting);
    for (const Fleet::Shortage& shortage : answer->shortages) {
      actual[text_of(registry, shortage.missing)] = fleet.names(shortage.nodes);
      RC_ASSERT(shortage.count == fleet.names(shortage.nodes).size());
    }
    RC_ASSERT(actual == expected);
    RC_ASSERT(*fleet.fitting(required) == answer->fitting);
  }
}

}  // namespace
}  // namespace corehold
