// SPDX-License-Identifier: Apache-2.0
#include "cli/apply/three_way_patch.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/patch/strategic_patch.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::object object(std::string_view text) { return json::parse(text).get_object(); }

json::object patch_of(std::string_view applied, std::string_view wanted, std::string_view current) {
  const json::object a = object(applied);
  const json::object w = object(wanted);
  const json::object c = object(current);
  return three_way_patch("Pod", {.applied = a, .wanted = w, .current = c});
}

TEST(ThreeWayPatch, IsEmptyWhenThereIsNothingToChange) {
  EXPECT_EQ(patch_of("{}", R"({"spec": {"containers": [{"name": "a"}]}})",
                     R"({"spec": {"nodeName": "box", "containers": [{"name": "a", "x": 1}]}})"),
            json::object());
}

TEST(ThreeWayPatch, SetsWhatDiffersAndRemovesWhatWasAskedForOnly) {
  EXPECT_EQ(patch_of(R"({"metadata": {"labels": {"mine": "1", "old": "1"}}})",
                     R"({"metadata": {"labels": {"mine": "2"}}})",
                     R"({"metadata": {"labels": {"mine": "1", "old": "1", "theirs": "1"}}})"),
            object(R"({"metadata": {"labels": {"mine": "2", "old": null}}})"));
}

TEST(ThreeWayPatch, KnowsListsByTheirKeys) {
  EXPECT_EQ(
      patch_of(R"({"spec": {"containers": [{"name": "a"}, {"name": "gone"}]}})",
               R"({"spec": {"containers": [{"name": "a", "image": "new"}, {"name": "more"}]}})",
               R"({"spec": {"containers": [{"name": "a", "image": "old", "tty": true},
                                           {"name": "gone"}, {"name": "theirs"}]}})"),
      object(R"({"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "more"}],
                          "containers": [{"image": "new", "name": "a"}, {"name": "more"},
                                         {"$patch": "delete", "name": "gone"}]}})"));
}

TEST(ThreeWayPatch, ComparesAmountsByWhatTheyAreWorth) {
  const char* wanted =
      R"({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}]}})";
  EXPECT_EQ(
      patch_of(
          "{}", wanted,
          R"({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]}})"),
      json::object());
  EXPECT_NE(
      patch_of(
          "{}", wanted,
          R"({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}}}]}})"),
      json::object());
}

TEST(ThreeWayPatch, TakesNullForNotThere) {
  EXPECT_EQ(patch_of("{}", R"({"spec": {"hostname": null, "other": null}})",
                     R"({"spec": {"hostname": "x"}})"),
            object(R"({"spec": {"hostname": null}})"));
}

// Labels, containers with an image and environment, finalizers, a list without a key.
json::object any_pod() {
  const auto word = [] { return std::string(1, *rc::gen::element('a', 'b', 'c', 'd')); };
  const auto few = [] { return *rc::gen::inRange(0, 4); };
  json::object labels;
  for (int i = few(); i > 0; --i) labels[word()] = word();
  json::array finalizers;
  for (int i = few(); i > 0; --i) {
    const json::value one(word());
    if (std::find(finalizers.begin(), finalizers.end(), one) == finalizers.end()) {
      finalizers.push_back(one);
    }
  }
  json::object by_name;
  for (int i = few(); i > 0; --i) {
    const std::string name = word();
    json::object env;
    for (int j = few(); j > 0; --j) {
      const std::string variable = word();
      env[variable] = json::object{{"name", variable}, {"value", word()}};
    }
    json::object container{{"name", name}, {"image", word()}};
    if (!env.empty()) {
      json::array list;
      for (const auto& member : env) list.push_back(member.value());
      container["env"] = std::move(list);
    }
    if (*rc::gen::inRange(0, 2) == 1) container["command"] = json::array{word(), word()};
    by_name[name] = std::move(container);
  }
  json::array containers;
  for (const auto& member : by_name) containers.push_back(member.value());
  json::object metadata{{"name", "web"}};
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!finalizers.empty()) metadata["finalizers"] = std::move(finalizers);
  return {{"metadata", std::move(metadata)},
          {"spec", json::object{{"containers", std::move(containers)}}}};
}

// Patching makes of the current object one that has all that is wanted: a second patch has
// nothing left to do, whatever was applied before.
RC_GTEST_PROP(ThreeWayPatch, LeavesNothingToDo, ()) {
  const json::object applied = any_pod();
  const json::object wanted = any_pod();
  const json::object current = any_pod();
  const json::object patch =
      three_way_patch("Pod", {.applied = applied, .wanted = wanted, .current = current});
  const auto after = apply_strategic_patch("Pod", current, patch);
  RC_ASSERT(after.has_value());
  const json::object again =
      three_way_patch("Pod", {.applied = applied, .wanted = wanted, .current = *after});
  if (!again.empty()) {
    RC_LOG() << json::serialize(patch) << "\n" << json::serialize(*after) << "\n";
  }
  RC_ASSERT(again == json::object());
}

// From the pod that was applied last, unchanged since, to the one that is wanted, exactly.
RC_GTEST_PROP(ThreeWayPatch, MakesTheWantedOneOfTheOneAppliedBefore, ()) {
  const json::object applied = any_pod();
  const json::object wanted = any_pod();
  const json::object patch =
      three_way_patch("Pod", {.applied = applied, .wanted = wanted, .current = applied});
  const auto after = apply_strategic_patch("Pod", applied, patch);
  RC_ASSERT(after.has_value());
  const json::object back =
      three_way_patch("Pod", {.applied = *after, .wanted = wanted, .current = *after});
  RC_ASSERT(back == json::object());
  RC_ASSERT(after->at("spec").at("containers").get_array().size() ==
            wanted.at("spec").at("containers").get_array().size());
}

}  // namespace
}  // namespace corehold
