// SPDX-License-Identifier: Apache-2.0
#include "api/patch/server_side_apply.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/json/time_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kNoon{1'800'000'000};

// A pod, and clients that write it one second after the other.
class ServerSideApply : public testing::Test {
 protected:
  std::string apply(std::string_view manager, std::string_view rest,
                    OnConflict on_conflict = OnConflict::kFail) {
    now_ += std::chrono::seconds(1);
    const json::value config =
        json::parse(R"({"apiVersion":"v1","kind":"Pod",)" + std::string(rest) + "}");
    auto result = server_side_apply("Pod", pod_, config,
                                    {.manager = std::string(manager), .now = now_}, on_conflict);
    if (!result) {
      failure_ = result.error();
      return std::to_string(http_code(failure_)) + " " + failure_.message;
    }
    pod_ = *std::move(result);
    return "";
  }

  void update(std::string_view manager, std::string_view object, std::string_view sub = "") {
    now_ += std::chrono::seconds(1);
    pod_ = record_update(
        "Pod", pod_, json::parse(object).as_object(),
        {.manager = std::string(manager), .subresource = std::string(sub), .now = now_});
  }

  std::string at(std::string_view pointer) {
    json::error_code problem;
    const json::value whole = pod_;
    const json::value* found = whole.find_pointer(pointer, problem);
    return found == nullptr ? "none" : json::serialize(*found);
  }

  // "who:fields" of each entry.
  std::string owners() {
    std::string text;
    const auto entries = managed_entries(pod_);
    EXPECT_TRUE(entries);
    for (const ManagedEntry& entry : *entries) {
      text += entry.manager + (entry.operation == ManagedOperation::kApply ? "!" : "") + ":";
      for (const FieldPath& path : entry.fields.paths()) text += " " + path_text(path);
      text += "\n";
    }
    return text;
  }

  json::object pod_{};
  ApiStatus failure_{};
  std::chrono::milliseconds now_ = kNoon;
};

TEST_F(ServerSideApply, CreatesWhatIsNotThere) {
  EXPECT_EQ(apply("me", R"("metadata":{"name":"p","labels":{"a":"1"}},)"
                        R"("spec":{"containers":[{"name":"c","image":"i",)"
                        R"("ports":[{"containerPort":80}]}]})"),
            "");
  EXPECT_EQ(at("/spec/containers"), R"([{"name":"c","image":"i","ports":[{"containerPort":80}]}])");
  EXPECT_EQ(
      json::serialize(pod_.at("metadata").at("managedFields")),
      R"([{"manager":"me","operation":"Apply","apiVersion":"v1",)"
      R"("time":"2027-01-15T08:00:01Z","fieldsType":"FieldsV1","fieldsV1":{)"
      R"("f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{)"
      R"("k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{)"
      R"("k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}])");
}

TEST_F(ServerSideApply, RemovesWhatItsManagerNoLongerSays) {
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"1","b":"1"}},"spec":{"volumes":[)"
                        R"({"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}]})"),
            "");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"b":"1"}},"spec":{"volumes":[)"
                        R"({"name":"w","emptyDir":{}}]})"),
            "");
  EXPECT_EQ(at("/metadata/labels"), R"({"b":"1"})");
  EXPECT_EQ(at("/spec/volumes"), R"([{"name":"w","emptyDir":{}}])");
  EXPECT_EQ(apply("me", R"("metadata":{"name":"p"})"), "");
  EXPECT_EQ(at("/metadata/labels"), "none");
  EXPECT_EQ(at("/spec"), "none");
  EXPECT_EQ(owners(), "");
}

TEST_F(ServerSideApply, LeavesWhatSomebodyElseOwnsToo) {
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"1","b":"1"}})"), "");
  EXPECT_EQ(apply("you", R"("metadata":{"labels":{"a":"1"}})"), "");
  EXPECT_EQ(owners(), "me!: .metadata.labels.a .metadata.labels.b\nyou!: .metadata.labels.a\n");
  EXPECT_EQ(apply("me", R"("metadata":{"name":"p"})"), "");
  EXPECT_EQ(at("/metadata/labels"), R"({"a":"1"})");
  EXPECT_EQ(owners(), "you!: .metadata.labels.a\n");
}

TEST_F(ServerSideApply, LeavesWhatNobodyOwns) {
  EXPECT_EQ(apply("me", R"("spec":{"containers":[{"name":"c","image":"i"}]})"), "");
  // As defaults are set, behind the backs of all managers.
  json::object& container = pod_.at("spec").at("containers").as_array().front().as_object();
  container["imagePullPolicy"] = "Always";
  EXPECT_EQ(apply("me", R"("spec":{"containers":[{"name":"c"}]})"), "");
  EXPECT_EQ(at("/spec/containers"), R"([{"name":"c","imagePullPolicy":"Always"}])");
}

TEST_F(ServerSideApply, TellsEveryConflictWithItsManager) {
  update("kubectl-edit", R"({"metadata":{"labels":{"a":"1","b":"1"}}})");
  EXPECT_EQ(apply("you", R"("metadata":{"labels":{"c":"1"}})"), "");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"2","b":"2","c":"2","d":"2"}})"),
            "409 Apply failed with 3 conflicts: conflicts with \"kubectl-edit\" using v1:\n"
            "- .metadata.labels.a\n- .metadata.labels.b\nconflicts with \"you\":\n"
            "- .metadata.labels.c");
  ASSERT_EQ(failure_.causes.size(), 3U);
  EXPECT_EQ(failure_.causes[2], (StatusCause{.reason = "FieldManagerConflict",
                                             .message = "conflict with \"you\"",
                                             .field = ".metadata.labels.c"}));
  EXPECT_EQ(at("/metadata/labels"), R"({"a":"1","b":"1","c":"1"})");
}

TEST_F(ServerSideApply, NamesElementsOfListsInConflicts) {
  update("x", R"({"spec":{"containers":[{"name":"c","image":"i","ports":[)"
              R"({"containerPort":80,"protocol":"TCP","hostPort":1}]}]}})");
  EXPECT_EQ(apply("me", R"("spec":{"containers":[{"name":"c","ports":[)"
                        R"({"containerPort":80,"hostPort":2}]}]})"),
            "409 Apply failed with 1 conflict: conflict with \"x\" using v1: "
            ".spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].hostPort");
}

TEST_F(ServerSideApply, TakesByForce) {
  update("x", R"({"metadata":{"labels":{"a":"1","b":"1"}}})");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"2"}})", OnConflict::kForce), "");
  EXPECT_EQ(at("/metadata/labels"), R"({"a":"2","b":"1"})");
  EXPECT_EQ(owners(), "me!: .metadata.labels.a\nx: .metadata.labels .metadata.labels.b\n");
}

TEST_F(ServerSideApply, SharesAFieldWhenBothSayTheSame) {
  update("x", R"({"metadata":{"labels":{"a":"1"}}})");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"1"}})"), "");
  EXPECT_EQ(owners(), "me!: .metadata.labels.a\nx: .metadata.labels .metadata.labels.a\n");
}

TEST_F(ServerSideApply, ChangesNothingTheSecondTime) {
  const char* const config = R"("metadata":{"labels":{"a":"1"}},"spec":{"containers":[)"
                             R"({"name":"c","env":[{"name":"X","value":"1"}]}]})";
  EXPECT_EQ(apply("me", config), "");
  const json::object before = pod_;
  EXPECT_EQ(apply("me", config), "");
  EXPECT_EQ(pod_, before);
}

TEST_F(ServerSideApply, KeepsAnObjectThatIsSaidToBeEmpty) {
  EXPECT_EQ(apply("me", R"("spec":{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]})"), "");
  EXPECT_EQ(apply("me", R"("spec":{"volumes":[{"name":"v","emptyDir":{}}]})"), "");
  EXPECT_EQ(at("/spec/volumes"), R"([{"name":"v","emptyDir":{}}])");
  const json::object before = pod_;
  EXPECT_EQ(apply("me", R"("spec":{"volumes":[{"name":"v","emptyDir":{}}]})"), "");
  EXPECT_EQ(pod_, before);
}

TEST_F(ServerSideApply, LosesAFieldToALaterUpdate) {
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"1","b":"1"}})"), "");
  json::object next = pod_;
  next.at("metadata").at("labels").as_object()["a"] = "2";
  update("kubectl-label", json::serialize(next));
  EXPECT_EQ(owners(), "me!: .metadata.labels.b\nkubectl-label: .metadata.labels.a\n");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"1"}})").substr(0, 4), "409 ");
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"b":"1"}})"), "");
}

TEST_F(ServerSideApply, KeepsTheOrderOfBothLists) {
  update("x", R"({"spec":{"volumes":[{"name":"a"},{"name":"b"},{"name":"c"}]}})");
  EXPECT_EQ(apply("me", R"("spec":{"volumes":[{"name":"c"},{"name":"n"},{"name":"a"}]})"), "");
  EXPECT_EQ(at("/spec/volumes"), R"([{"name":"b"},{"name":"c"},{"name":"n"},{"name":"a"}])");
  EXPECT_EQ(apply("you", R"("metadata":{"finalizers":["x","y"]})"), "");
  EXPECT_EQ(apply("me", R"("metadata":{"finalizers":["z","y"]},"spec":{"volumes":[)"
                        R"({"name":"c"},{"name":"n"},{"name":"a"}]})"),
            "");
  EXPECT_EQ(at("/metadata/finalizers"), R"(["x","z","y"])");
}

TEST_F(ServerSideApply, TakesAtomicListsWhole) {
  EXPECT_EQ(apply("me", R"("spec":{"tolerations":[{"key":"a"}],"nodeSelector":{"x":"1"}})"), "");
  EXPECT_EQ(owners(), "me!: .spec.nodeSelector .spec.tolerations\n");
  EXPECT_EQ(apply("you", R"("spec":{"tolerations":[{"key":"b"}]})"),
            "409 Apply failed with 1 conflict: conflict with \"me\": .spec.tolerations");
}

TEST_F(ServerSideApply, GivesUnownedObjectsToWhoeverWasBefore) {
  pod_ = json::parse(R"({"metadata":{"name":"p","labels":{"a":"1"}}})").as_object();
  EXPECT_EQ(apply("me", R"("metadata":{"labels":{"a":"2"}})"),
            "409 Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: "
            ".metadata.labels.a");
}

TEST_F(ServerSideApply, LetsKubectlTakeOverWhatItAppliedItself) {
  const char* const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  json::object pod = json::parse(R"({"metadata":{"labels":{"a":"1","b":"1"}}})").as_object();
  pod.at("metadata").as_object()["annotations"] = {
      {annotation, R"({"metadata":{"labels":{"a":"1"}}})"}};
  update("kubectl-client-side-apply", json::serialize(pod));
  const json::object before = pod_;
  EXPECT_EQ(apply("other", R"("metadata":{"labels":{"a":"2"}})").substr(0, 4), "409 ");
  EXPECT_EQ(apply("kubectl", R"("metadata":{"labels":{"b":"2"}})").substr(0, 4), "409 ");
  EXPECT_EQ(apply("kubectl", R"("metadata":{"labels":{"a":"2"}})"), "");
  EXPECT_EQ(at("/metadata/labels"), R"({"a":"2","b":"1"})");
  EXPECT_EQ(pod_.at("metadata").at("annotations").at(annotation),
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a\":\"2\"}}}\n");
}

TEST_F(ServerSideApply, RefusesWhatIsNoObjectOfThisKind) {
  const auto code = [](std::string_view config) {
    const auto result =
        server_side_apply("Pod", {}, json::parse(config), {.manager = "me"}, OnConflict::kFail);
    return result ? 200 : http_code(result.error());
  };
  EXPECT_EQ(code("[]"), 400);
  EXPECT_EQ(code(R"({"apiVersion":"v1","kind":"Node"})"), 400);
  EXPECT_EQ(code(R"({"apiVersion":"v2","kind":"Pod"})"), 400);
  EXPECT_EQ(code(R"({"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{}]}})"), 400);
  EXPECT_EQ(code(R"({"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":null}})"), 200);
}

TEST_F(ServerSideApply, SaysWhichElementHasNoKeyOrAnothersKey) {
  EXPECT_EQ(apply("me", R"("metadata":{"name":"p","namespace":"d"},)"
                        R"("spec":{"containers":[{"image":"i"}]})"),
            "500 failed to create typed patch object (d/p; /v1, Kind=Pod): .spec.containers: "
            "element 0: associative list with keys has an element that omits key field \"name\" "
            "(and doesn't have default value)");
  EXPECT_EQ(apply("me", R"("metadata":{"name":"p","namespace":"d"},)"
                        R"("spec":{"containers":[{"name":"a"},{"name":"a"}]})"),
            "500 failed to create typed patch object (d/p; /v1, Kind=Pod): .spec.containers: "
            "duplicate entries for key [name=\"a\"]");
}

// ---- managedFields of other writes

class ManagedFields : public ServerSideApply {};

TEST_F(ManagedFields, TellSubresourcesApart) {
  update("kubelet", R"({"metadata":{"labels":{"a":"1"}},"spec":{},"status":{"phase":"Running"}})",
         "status");
  update("x",
         R"({"metadata":{"labels":{"a":"1"}},"spec":{"nodeName":"n"},"status":{"phase":"?"}})");
  EXPECT_EQ(owners(),
            "kubelet: .metadata.labels .metadata.labels.a .status.phase\nx: .spec.nodeName\n");
}

TEST_F(ManagedFields, AreTakenFromTheClientThatSendsThem) {
  update("x", R"({"metadata":{"labels":{"a":"1"}}})");
  // As kubectl does when it moves an object from client-side to server-side apply.
  json::object next = pod_;
  json::object& entry = next.at("metadata").at("managedFields").as_array().front().as_object();
  entry["manager"] = "kubectl";
  entry["operation"] = "Apply";
  update("kubectl-patch", json::serialize(next));
  EXPECT_EQ(owners(), "kubectl!: .metadata.labels .metadata.labels.a\n");
  next.at("metadata").as_object()["managedFields"] = json::parse("[{}]");
  update("x", json::serialize(next));
  EXPECT_EQ(owners(), "");
}

TEST_F(ManagedFields, SurviveClientsThatDropOrSpoilThem) {
  update("x", R"({"metadata":{"labels":{"a":"1"}}})");
  update("y", R"({"metadata":{"labels":{"a":"1"}}})");
  EXPECT_EQ(owners(), "x: .metadata.labels .metadata.labels.a\n");
  update("y", R"({"metadata":{"labels":{"a":"1"},"managedFields":[{"operation":"Guess"}]}})");
  EXPECT_EQ(owners(), "x: .metadata.labels .metadata.labels.a\n");
}

TEST_F(ManagedFields, JoinTheOldestWhenThereAreTooMany) {
  json::object pod = json::parse(R"({"metadata":{"labels":{}}})").as_object();
  for (int i = 0; i < 15; ++i) {
    pod.at("metadata").at("labels").as_object()[std::to_string(i)] = "1";
    update("m" + std::to_string(i), json::serialize(pod));
  }
  const auto entries = managed_entries(pod_);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), kMaxUpdateManagers);
  EXPECT_EQ(entries->front().manager, "ancient-changes");
  EXPECT_EQ(entries->back().manager, "m14");
  FieldSet all;
  for (const ManagedEntry& entry : *entries) all = all.united(entry.fields);
  EXPECT_TRUE(all.has({"f:metadata", "f:labels", "f:0"}));
}

TEST_F(ManagedFields, NameTheWriterByWhatItSays) {
  EXPECT_EQ(manager_name("me", "kubectl/v1.36"), "me");
  EXPECT_EQ(manager_name("", "kubectl/v1.36 (linux/amd64)"), "kubectl");
  EXPECT_EQ(manager_name("", ""), "unknown");
  EXPECT_EQ(manager_name("",
                         "a\x01\xff"
                         "b/1"),
            "ab");
}

TEST(FieldSet, ComesBackAsItWent) {
  const json::value fields =
      json::parse(R"({"f:a":{".":{},"f:b":{}},"k:{\"name\":\"x\"}":{},"v:\"y\"":{},"i:3":{}})");
  const auto set = field_set_from_json(fields);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->size(), 5U);
  EXPECT_EQ(json::value(to_json(*set)), fields);
  EXPECT_EQ(path_text({"f:a", "k:{\"name\":\"x\"}", "v:\"y\"", "i:3"}),
            ".a[name=\"x\"][=\"y\"][3]");
  for (const char* text : {"[]", R"({"x":{}})", R"({"f":{}})", R"({"k:1":{}})", R"({"i:x":{}})",
                           R"({"f:a":1})", R"({"v:{":{}})"}) {
    EXPECT_FALSE(field_set_from_json(json::parse(text))) << text;
  }
}

TEST(FieldSet, IsASet) {
  FieldSet left;
  left.insert({"f:a"});
  left.insert({"f:a", "f:b"});
  left.insert({"f:c"});
  FieldSet right;
  right.insert({"f:a", "f:b"});
  right.insert({"f:d"});
  EXPECT_EQ(left.united(right).size(), 4U);
  EXPECT_EQ(left.common(right).paths(), (std::vector<FieldPath>{{"f:a", "f:b"}}));
  EXPECT_EQ(left.minus(right).paths(), (std::vector<FieldPath>{{"f:a"}, {"f:c"}}));
  EXPECT_EQ(left.without_subtree({"f:a"}).paths(), (std::vector<FieldPath>{{"f:c"}}));
  EXPECT_TRUE(left.minus(left).empty());
}

}  // namespace
}  // namespace corehold
