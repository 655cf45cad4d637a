// SPDX-License-Identifier: Apache-2.0
//
// What a real API server accepted, filled in, refused and said about it: each recorded
// request is made here too, or is named with the reason why not.
#include <map>
#include <optional>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/node/node_update.h"
#include "api/patch/patch.h"
#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"
#include "api/pod/pod_update.h"
#include "api/status.h"
#include "features/known_features.h"
#include "features/update_check.h"
#include "pod/pod_json.h"
#include "recorded.h"

namespace corehold {
namespace {

namespace json = boost::json;

const std::map<std::string, std::string, std::less<>> kNotReplayed{
    {"validation/01-pod-create.json: env resourceFieldRef assigned.cpuset",
     "ours: the refusal says where to ask instead (design 3.7)"},
    {"validation/01-pod-create.json: downwardAPI volume, resourceFieldRef assigned.cpuset",
     "ours: this node has such files (design 3.7)"},
    {"validation/01-pod-create.json: downwardAPI volume, resourceFieldRef assigned.memset",
     "ours: this node has such files (design 3.7)"},
    {"validation/01-pod-create.json: env resourceFieldRef assigned.cpuset",
     "refused too, with what to use instead (design 3.7)"},
    {"validation/01-pod-create.json: projected volume, resourceFieldRef assigned.cpuset",
     "ours: this node has such files (design 3.7)"},
    {"validation/02-pod-update-and-resize.json: resize: above the node's allocatable cpu and "
     "memory",
     "a resize that can never be granted is told by the pod's condition Infeasible"},
    {"validation/02-pod-update-and-resize.json: resize: windows node", "this node runs Linux"},
    {"validation/02-pod-update-and-resize.json: resize: bound to a node that does not exist",
     "there is one node, and it exists"},
    {"validation/02-pod-update-and-resize.json: resize: pod does not exist",
     "finding objects is the agent's: tests/api/resize_api_test.py"},
    {"validation/03-node-status.json: create a node with declaredFeatures in the POST",
     "nodes cannot be created here"},
    {"validation/03-node-status.json: create a node with bad declaredFeatures in the POST",
     "nodes cannot be created here"},
};

std::vector<RecordedCase> replayed(std::string_view file, std::set<std::string>& left_out) {
  std::vector<RecordedCase> cases = recorded_cases(file);
  std::erase_if(cases, [&](const RecordedCase& one) {
    const bool is_out = kNotReplayed.contains(one.id);
    if (is_out) left_out.insert(one.id);
    return is_out;
  });
  return cases;
}

const json::object& request_of(const RecordedCase& recorded) {
  return recorded.exchange.at("request").as_object();
}

std::vector<std::string> recorded_warnings(const RecordedCase& recorded) {
  const json::value* found = recorded.exchange.at("response").as_object().if_contains("warning");
  std::vector<std::string> warnings;
  if (found == nullptr) return warnings;
  const json::array list = found->is_array() ? found->get_array() : json::array{*found};
  for (const json::value& header : list) {
    // 299 - "text", with quotes and backslashes escaped
    const std::string_view text = header.as_string();
    warnings.emplace_back(json::parse(text.substr(text.find('"'))).as_string());
  }
  return warnings;
}

void expect_refused(const RecordedCase& recorded, const ApiStatus& status) {
  EXPECT_EQ(recorded.code(), http_code(status)) << recorded.id << "\n" << status.message;
  EXPECT_TRUE(agrees(recorded.body(), to_json(status))) << recorded.id;
}

FieldValidation validation_of(const RecordedCase& recorded) {
  return *field_validation(recorded.query()["fieldValidation"], "CreateOptions");
}

// ---- new pods ----

ApiResult<json::object> create(std::string_view body, FieldValidation validation,
                               std::vector<std::string>& warnings) {
  auto object = read_object("Pod", body, validation, warnings);
  if (!object) return object.error();
  auto pod = TRY(prepare_new_pod(*object, {.namespace_name = "default"}, {}, warnings));
  return std::move(pod).take_json();
}

void expect_created(const RecordedCase& recorded, const json::object& pod) {
  EXPECT_EQ(recorded.code(), 201) << recorded.id << "\n" << json::serialize(pod);
  const json::object& kept = recorded.body().at("keptByRecorder").as_object();
  json::array resources;
  for (const json::value& container : pod.at("spec").at("containers").as_array())
    resources.push_back(container.at("resources"));
  EXPECT_TRUE(agrees(kept.at("spec.containers[].resources"), resources)) << recorded.id;
  EXPECT_TRUE(agrees(kept.at("status"), pod.at("status"))) << recorded.id;
  std::vector<std::string> unused;
  auto again = prepare_new_pod(pod, {.namespace_name = "default"}, {}, unused);
  ASSERT_TRUE(again) << recorded.id;
  EXPECT_EQ(json::serialize(again->json()), json::serialize(pod)) << recorded.id;
}

TEST(RecordedNewPods, AreAcceptedAndRefusedAlike) {
  std::set<std::string> left_out;
  for (const RecordedCase& recorded : replayed("validation/01-pod-create.json", left_out)) {
    std::string body = json::serialize(request_of(recorded).at("body"));
    // The recorder has kept of a key that came twice but the last.
    if (recorded.id.ends_with("duplicate JSON key, Strict"))
      body.insert(body.find("\"name\":"), "\"name\":\"d\",");
    std::vector<std::string> warnings;
    const auto pod = create(body, validation_of(recorded), warnings);
    if (pod) {
      expect_created(recorded, *pod);
    } else {
      expect_refused(recorded, pod.error());
    }
    EXPECT_EQ(warnings, recorded_warnings(recorded)) << recorded.id;
  }
  EXPECT_EQ(left_out.size(), 4U);
}

// ---- changed pods and nodes ----

PatchKind patch_kind_of(const json::object& request) {
  const json::value* type = request.at("headers").as_object().if_contains("Content-Type");
  return *patch_kind(type == nullptr ? "" : std::string_view(type->as_string()));
}

// The nodes of the recorder declare what resizes can need, but for node-1.
std::optional<ApiStatus> refuse_update(const ApiPod& old, const ApiPod& next,
                                       std::string_view subresource) {
  const json::value* name = old.json().at("spec").as_object().if_contains("nodeName");
  FeatureNode node;
  if (name == nullptr || *name != "node-1") {
    node.declared_features = {"InPlacePodLevelResourcesVerticalScaling",
                              "InPlacePodVerticalScalingInitContainers"};
  }
  const auto checked = check_update(kubernetes_registry(), {old.pod(), next.pod(), subresource},
                                    &node, *Version::parse("1.37.0"));
  if (checked) return std::nullopt;
  return forbidden("pods", next.pod().name, checked.error().message);
}

// What a request makes of an object: "Pod" or "Node".
ApiResult<json::object> change(std::string_view kind, const json::object& old,
                               const json::object& request) {
  const bool is_put = request.at("method") == "PUT";
  const std::string text = json::serialize(request.at("body"));
  std::vector<std::string> warnings;
  json::object next;
  if (is_put) {
    next = TRY(read_object(kind, text, FieldValidation::kWarn, warnings));
  } else {
    const PatchRequest patch{.kind = patch_kind_of(request), .body = text};
    next = TRY(read_patched(kind, TRY(apply_patch(kind, old, patch)), patch, FieldValidation::kWarn,
                            warnings));
  }
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  const std::string_view path = request.at("path").as_string();
  const std::string_view plain = path.substr(0, path.find('?'));
  const WriteVerb verb = is_put ? WriteVerb::kPut : WriteVerb::kPatch;
  const bool is_status = plain.ends_with("/status");
  if (kind == "Node") {
    return prepare_node_update(
        old, next, {.path = is_status ? NodePath::kStatus : NodePath::kObject, .verb = verb});
  }
  const PodPath pod_path = is_status                    ? PodPath::kStatus
                           : plain.ends_with("/resize") ? PodPath::kResize
                                                        : PodPath::kObject;
  const auto old_pod = ApiPod::read(old);
  EXPECT_TRUE(old_pod);
  auto made =
      TRY(prepare_pod_update(*old_pod, next, {.path = pod_path, .verb = verb}, {}, warnings));
  if (auto refused =
          refuse_update(*old_pod, made.pod, plain.ends_with("/resize") ? "resize" : "")) {
    return *refused;
  }
  json::object result = std::move(made.pod).take_json();
  if (made.is_new_spec) {
    json::object& metadata = result["metadata"].as_object();
    metadata["generation"] = metadata.at("generation").as_int64() + 1;
  }
  return result;
}

constexpr std::string_view kLarge = R"({"requests":{"cpu":"2","memory":"1Gi"},
    "limits":{"cpu":"2","memory":"1Gi"}})";

// The pods that the recorder had made before.
json::object stored_pod(const std::string& name, const std::string& resources,
                        const std::string& more = "") {
  const std::string body = R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + name +
                           R"(","topology.kubernetes.io/zone":"zone-a"}},"spec":{"nodeName":)" +
                           (name == "r-n1" ? R"("node-1")" : R"("node-0")") +
                           R"(,"terminationGracePeriodSeconds":0,)"
                           R"("automountServiceAccountToken":false,"containers":[{"name":"app",)"
                           R"("image":"registry.example/app:v1","resources":)" +
                           resources + "}]" + more + "}}";
  std::vector<std::string> warnings;
  auto pod = create(body, FieldValidation::kStrict, warnings);
  EXPECT_TRUE(pod) << pod.error().message;
  json::object& metadata = (*pod)["metadata"].as_object();
  metadata["uid"] = "uid-of-" + name;
  metadata["resourceVersion"] = "100";
  metadata["generation"] = 1;
  metadata["creationTimestamp"] = "2026-11-15T20:41:00Z";
  return *pod;
}

std::map<std::string, json::object> stored_pods() {
  const std::string large(kLarge);
  const std::string setup =
      R"({"name":"setup","image":"i","resources":{"limits":{"cpu":"2","memory":"256Mi"}}})";
  const std::string side = R"({"name":"side","image":"i","restartPolicy":"Always",
      "resources":{"limits":{"cpu":"1","memory":"256Mi"}}})";
  std::map<std::string, json::object> pods;
  pods["r-g"] = stored_pod("r-g", large);
  pods["r-be"] = stored_pod("r-be", "{}");
  pods["r-b"] = stored_pod("r-b", R"({"requests":{"cpu":"1","memory":"256Mi"},
      "limits":{"cpu":"2","memory":"1Gi"}})");
  pods["r-i"] = stored_pod("r-i", large, R"(,"initContainers":[)" + setup + "," + side + "]");
  pods["r-n1"] = stored_pod("r-n1", large,
                            R"(,"initContainers":[)" + setup +
                                R"(],"resources":{"requests":{"cpu":"4","memory":"2Gi"},)"
                                R"("limits":{"cpu":"4","memory":"2Gi"}})");
  return pods;
}

TEST(RecordedPodChanges, AreMadeAndRefusedAlike) {
  std::map<std::string, json::object> pods = stored_pods();
  std::set<std::string> left_out;
  for (const RecordedCase& recorded :
       replayed("validation/02-pod-update-and-resize.json", left_out)) {
    constexpr std::string_view kBefore = "/pods/";
    const std::string path = recorded.path();
    const std::string rest = path.substr(path.find(kBefore) + kBefore.size());
    json::object& pod = pods.at(rest.substr(0, rest.find('/')));
    json::object request = request_of(recorded);
    if (request.at("method") == "PUT") {
      json::object stale = pod;
      stale["metadata"].as_object()["resourceVersion"] = "1";
      request["body"] = stale;
    }
    const auto changed = change("Pod", pod, request);
    if (!changed) {
      expect_refused(recorded, changed.error());
      continue;
    }
    EXPECT_EQ(recorded.code(), 200) << recorded.id;
    EXPECT_TRUE(contains(recorded.body().at("keptByRecorder"), *changed)) << recorded.id;
    if (!recorded.query().contains("dryRun")) pod = *changed;
  }
  EXPECT_EQ(left_out.size(), 4U);
}

// The node as it was, taken from a message that shows it whole.
json::object recorded_node() {
  for (const RecordedCase& recorded : recorded_cases("validation/03-node-status.json")) {
    if (!recorded.id.ends_with(": not strings")) continue;
    const std::string_view message =
        recorded.body().at("details").at("causes").at(0).at("message").as_string();
    const std::size_t begin = message.find('"');
    const std::size_t end = message.rfind("\": json:");
    const json::value text = json::parse(message.substr(begin, end + 1 - begin));
    json::object node = json::parse(text.as_string()).as_object();
    node["status"].as_object().erase("declaredFeatures");
    return node;
  }
  return {};
}

TEST(RecordedNodeChanges, AreMadeAndRefusedAlike) {
  json::object node = recorded_node();
  ASSERT_FALSE(node.empty());
  std::set<std::string> left_out;
  for (const RecordedCase& recorded : replayed("validation/03-node-status.json", left_out)) {
    json::object request = request_of(recorded);
    const bool is_long = recorded.id.ends_with(": 500 features");
    if (is_long) {
      json::array names;
      for (int i = 0; i < 500; ++i) {
        std::string digits = std::to_string(i);
        names.push_back(json::string("F" + std::string(4 - digits.size(), '0') + digits));
      }
      request["body"] = {{"status", {{"declaredFeatures", names}}}};
    }
    const auto changed = change("Node", node, request);
    if (!changed) {
      expect_refused(recorded, changed.error());
      continue;
    }
    EXPECT_EQ(recorded.code(), 200) << recorded.id;
    const json::value* features = changed->at("status").as_object().if_contains("declaredFeatures");
    if (!is_long) {
      EXPECT_EQ(recorded.body().at("keptByRecorder").at("status.declaredFeatures"),
                features == nullptr ? json::value() : *features)
          << recorded.id;
    }
    node = *changed;
  }
  EXPECT_EQ(left_out.size(), 2U);
}

// ---- what others recorded about the same ----

// recorded_shapes_test.cc leaves these out, because they are about writing.
TEST(RecordedErrorsOfWriting, AreOurs) {
  const json::object node{{"metadata",
                           {{"name", "list-0"},
                            {"uid", "93048172-63be-4e0c-b50a-410db51e8eeb"},
                            {"resourceVersion", "7"}}}};
  std::size_t found = 0;
  for (const RecordedCase& recorded : recorded_cases("watch/09-status-errors.json")) {
    const std::string about = recorded.id.substr(recorded.id.find(": ") + 2);
    json::object request = request_of(recorded);
    std::vector<std::string> warnings;
    if (about == "body is not JSON" || about == "wrong kind") {
      const json::value& body = request.at("body");
      const auto read = read_object(
          "Node", body.is_string() ? std::string(body.as_string()) : json::serialize(body),
          FieldValidation::kWarn, warnings);
      ASSERT_FALSE(read) << recorded.id;
      expect_refused(recorded, read.error());
      ++found;
    } else if (about.starts_with("conflict: stale") || about.starts_with("conflict: patch") ||
               about == "patch with a wrong uid") {
      if (request.at("method") == "PUT") {
        json::object stale = node;
        stale["metadata"].as_object()["resourceVersion"] = "1";
        request["body"] = stale;
      }
      const auto changed = change("Node", node, request);
      ASSERT_FALSE(changed) << recorded.id;
      expect_refused(recorded, changed.error());
      ++found;
    }
  }
  EXPECT_EQ(found, 5U);
}

// Without what the caller gives, and what is told of by managed fields.
json::object without_given(json::object object) {
  object.erase("kind");
  object.erase("apiVersion");
  json::object& metadata = object["metadata"].as_object();
  for (const std::string_view field :
       {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
    metadata.erase(field);
  }
  return object;
}

TEST(RecordedPodLife, IsOurs) {
  const json::value file = read_recorded("resize/generation-sequence.json");
  json::object pod;
  std::size_t replayed_steps = 0;
  for (const json::value& step : file.at("steps").as_array()) {
    const json::value* recorded_request = step.as_object().if_contains("request");
    if (recorded_request == nullptr || !recorded_request->is_object()) continue;
    json::object request = recorded_request->as_object();
    if (request.at("method") == "DELETE") break;  // deleting, and binding after it, is the agent's
    const std::string about(step.at("about").as_string());
    if (request.at("method") == "POST") {
      std::vector<std::string> warnings;
      auto created = create(json::serialize(request.at("body")), FieldValidation::kWarn, warnings);
      ASSERT_TRUE(created) << about;
      pod = *created;
      pod["metadata"].as_object()["generation"] = 1;
      pod["metadata"].as_object()["labels"].as_object()["topology.kubernetes.io/zone"] = "zone-a";
    } else {
      if (request.at("method") == "PUT") {
        json::object wanted = pod;
        json::object& resources = wanted["spec"].at("containers").at(0).at("resources").as_object();
        resources["limits"].as_object()["cpu"] = "2";
        resources["requests"].as_object()["cpu"] = "2";
        request["body"] = wanted;
      }
      const auto changed = change("Pod", pod, request);
      EXPECT_EQ(step.at("code").as_int64(), changed ? 200 : http_code(changed.error())) << about;
      if (changed) {
        pod = *changed;
      } else {
        EXPECT_TRUE(agrees(step.at("response"), to_json(changed.error()))) << about;
      }
    }
    EXPECT_TRUE(agrees(without_given(step.at("object").as_object()), without_given(pod))) << about;
    ++replayed_steps;
  }
  EXPECT_EQ(replayed_steps, 17U);
}

// The objects that the API server showed to webhooks: before, the request, and after.
TEST(RecordedWrites, LeadToTheSameObjects) {
  for (const std::string& file : recorded_files("webhook")) {
    const json::value recorded = read_recorded(file);
    if (!recorded.is_object() || !recorded.as_object().contains("clientRequest")) continue;
    const json::object& request = recorded.at("clientRequest").as_object();
    const json::value& review = recorded.at("webhookCalls").at(0).at("body").at("request");
    const std::string_view path = request.at("path").as_string();
    const std::string_view kind = path.starts_with("/api/v1/nodes") ? "Node" : "Pod";
    // Pods get ephemeral containers by a path of their own, which this node does not serve.
    if (path.ends_with("/ephemeralcontainers")) continue;
    if (request.at("method") == "POST" && kind == "Node") continue;  // neither are nodes created
    json::object ours;
    if (request.at("method") == "POST") {
      std::vector<std::string> warnings;
      auto created =
          create(json::serialize(request.at("body")), FieldValidation::kStrict, warnings);
      ASSERT_TRUE(created) << file << created.error().message;
      ours = *created;
      ours["metadata"].as_object()["generation"] = 1;
      // From the labels of the pod's node.
      const bool is_bound = ours.at("spec").as_object().contains("nodeName");
      if (is_bound) {
        ours["metadata"].as_object()["labels"].as_object()["topology.kubernetes.io/zone"] =
            "zone-a";
      }
    } else {
      auto changed = change(kind, review.at("oldObject").as_object(), request);
      ASSERT_TRUE(changed) << file << changed.error().message;
      ours = *changed;
    }
    const json::object expected = without_given(review.at("object").as_object());
    EXPECT_TRUE(agrees(expected, without_given(ours))) << file;
    // To the order of the fields.
    EXPECT_EQ(json::serialize(expected.at("spec")), json::serialize(ours.at("spec"))) << file;
    EXPECT_EQ(json::serialize(expected.at("status")), json::serialize(ours.at("status"))) << file;
  }
}

TEST(RecordedValidation, NoneIsForgotten) {
  EXPECT_EQ(recorded_files("validation"),
            (std::vector<std::string>{"validation/01-pod-create.json",
                                      "validation/02-pod-update-and-resize.json",
                                      "validation/03-node-status.json"}));
  std::set<std::string> known;
  for (const std::string& file : recorded_files("validation")) {
    for (const RecordedCase& recorded : recorded_cases(file)) known.insert(recorded.id);
  }
  for (const auto& [id, reason] : kNotReplayed) EXPECT_TRUE(known.contains(id)) << id;
}

}  // namespace
}  // namespace corehold
