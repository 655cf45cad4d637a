// SPDX-License-Identifier: Apache-2.0
#include "features/registry/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "features/registry/testing.h"

namespace corehold {
namespace {

Feature feature(std::string name) { return {.name = name, .requirements = {.gates = {name}}}; }

std::string refusal(std::vector<Feature> features) {
  const auto registry = Registry::of(std::move(features));
  if (registry) return "accepted";
  EXPECT_EQ(registry.error().code, Code::kInvalid);
  return registry.error().message;
}

TEST(Registry, RefusesAFeatureWithoutAGate) {
  EXPECT_EQ(refusal({feature("A"), {.name = "B"}}),
            "feature B: must have at least one feature gate");
  EXPECT_EQ(
      refusal({{.name = "B", .requirements = {.static_config = {{"cpuManagerPolicy", "static"}}}}}),
      "feature B: must have at least one feature gate");
}

TEST(Registry, RefusesGatesWithoutANameAndGivenTwice) {
  EXPECT_EQ(refusal({{.name = "B", .requirements = {.gates = {""}}}}),
            "feature B: \"\" is no name of a gate");
  EXPECT_EQ(refusal({{.name = "B", .requirements = {.gates = {"G", "g"}}}}),
            "feature B: \"g\" is no name of a gate");
  EXPECT_EQ(refusal({{.name = "B", .requirements = {.gates = {"G", "H", "G"}}}}),
            "feature B: gate G is given twice");
}

TEST(Registry, RefusesAFeatureRegisteredTwice) {
  EXPECT_EQ(refusal({feature("A"), feature("B"), feature("A")}), "feature A: registered twice");
}

TEST(Registry, RefusesBadNames) {
  const std::string form =
      "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
      "MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
  for (const std::string name :
       {"", "alpha", "A_B", "A-B", "A/", "/A", "A//B", "1A", "A/1b", "\u00c4"}) {
    EXPECT_EQ(refusal({feature(name)}), fmt::format("invalid feature name \"{}\": {}", name, form));
  }
  EXPECT_EQ(refusal({feature("A\x1b[2J")}), "invalid feature name \"A\\x1b[2J\": " + form);
  EXPECT_EQ(refusal({feature(std::string(254, 'A'))}),
            "invalid feature name \"" + std::string(64, 'A') +
                "\"... (254 characters): must be no more than 253 characters");
  for (const std::string name : {"A", "A1", "A/b", "A/bC/D1", "AB/C2d"}) {
    EXPECT_EQ(refusal({feature(name)}), "accepted");
  }
  EXPECT_EQ(refusal({feature(std::string(253, 'A'))}), "accepted");
}

TEST(Registry, RefusesMoreFeaturesThanASetHolds) {
  std::vector<Feature> features;
  features.reserve(257);
  for (int i = 0; i < 257; ++i) features.push_back(feature("F" + std::to_string(i)));
  EXPECT_EQ(refusal(features), "257 features, a registry holds at most 256");
  features.pop_back();
  const auto registry = Registry::of(features);
  ASSERT_TRUE(registry);
  NodeConfiguration node;
  for (const Feature& each : features) node.gates[each.name] = true;
  EXPECT_EQ(registry->discover(node).size(), 256U);
}

TEST(Registry, SkipsUnknownNamesOfNodesAndTakesListsAsSets) {
  const Registry registry = *Registry::of({feature("B"), feature("A"), feature("C")});
  const std::vector<std::string> names = {"C", "Unknown", "A", "C"};
  EXPECT_EQ(text_of(registry, registry.known(names)), "A, C");
  const auto strict = registry.set_of(names);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error(), (Error{Code::kNotFound, "unknown feature Unknown"}));
}

TEST(Registry, SaysWhichFeatureIsNotRegistered) {
  const Registry registry = *Registry::of({feature("A")});
  const auto requirements = registry.requirements("NoSuch");
  ASSERT_FALSE(requirements);
  EXPECT_EQ(requirements.error(), (Error{Code::kNotFound, "feature 'NoSuch' not registered"}));
  EXPECT_EQ(registry.requirements("A")->gates, std::vector<std::string>{"A"});
}

TEST(FeatureSet, OfAnotherRegistryIsRefusedNotMisread) {
  const Registry first = *Registry::of({feature("A"), feature("B")});
  const Registry second = *Registry::of({feature("A"), feature("C")});
  const FeatureSet a = features_of(first, {"B"});
  const FeatureSet c = features_of(second, {"C"});  // the same bit
  EXPECT_NE(a, c);
  const Error mixed{Code::kConflict,
                    "the two feature sets are of different registries; build both from one"};
  EXPECT_EQ(a.without(c).error(), mixed);
  EXPECT_EQ(a.joined(c).error(), mixed);
  EXPECT_EQ(
      first.names(c).error(),
      (Error{Code::kConflict, "the feature set is of another registry; build it from this one"}));
}

TEST(FeatureSet, OfARegistryWithTheSameFeaturesIsWelcome) {
  const Registry first = *Registry::of({feature("A"), feature("B")});
  const Registry second = *Registry::of({feature("B"), feature("A")});
  EXPECT_EQ(features_of(first, {"B"}), features_of(second, {"B"}));
  EXPECT_TRUE(features_of(first, {"A", "B"}).without(features_of(second, {"A"})));
}

TEST(FeatureSet, AddsAndTakesAway) {
  const Registry registry = *Registry::of({feature("A"), feature("B"), feature("C")});
  const FeatureSet ab = features_of(registry, {"A", "B"});
  EXPECT_EQ(text_of(registry, *ab.without(features_of(registry, {"B", "C"}))), "A");
  EXPECT_EQ(text_of(registry, *ab.joined(features_of(registry, {"C"}))), "A, B, C");
  EXPECT_EQ(ab.size(), 2U);
  EXPECT_TRUE(registry.none().empty());
}

TEST(MaxVersion, IsTheLastVersionThatDeclaresAndAsks) {
  Feature ending = feature("Ending");
  ending.max_version = version("1.37.0");
  ending.infer_for_scheduling = [](const Pod&) { return true; };
  ending.infer_for_update = [](const Pod&, const Pod&) { return true; };
  const Registry registry = *Registry::of({ending});
  const Pod pod;
  for (const auto& [text, asks] : std::map<std::string, bool>{{"1.36.9", true},
                                                              {"1.37.0-rc.1", true},
                                                              {"1.37.0", true},
                                                              {"1.37.0+build5", true},
                                                              {"1.37.1", false},
                                                              {"1.38.0-alpha.0", false}}) {
    const NodeConfiguration node{.gates = {{"Ending", true}}, .version = version(text)};
    EXPECT_EQ(registry.discover(node).size(), asks ? 1U : 0U) << text;
    EXPECT_EQ(registry.infer_for_scheduling(pod, version(text))->size(), asks ? 1U : 0U) << text;
    EXPECT_EQ(registry.infer_for_update(pod, pod, version(text))->size(), asks ? 1U : 0U) << text;
  }
}

TEST(TargetVersion, IsRequired) {
  const Registry registry = *Registry::of({feature("A")});
  const Error missing{Code::kInvalid, "target version cannot be nil"};
  const Pod pod;
  EXPECT_EQ(registry.infer_for_scheduling(pod, std::nullopt).error(), missing);
  EXPECT_EQ(registry.infer_for_update(pod, pod, std::nullopt).error(), missing);
}

}  // namespace
}  // namespace corehold
