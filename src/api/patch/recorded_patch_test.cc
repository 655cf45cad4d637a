// SPDX-License-Identifier: Apache-2.0
//
// What a real API server made of patches (tests/recorded/patch), and how it recorded who
// wrote which fields (tests/recorded/webhook): ours must be equal. Where more than the
// patch was at work there (defaults, admission, validation), a list here says so.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/json/time_text.h"
#include "api/patch/managed_fields.h"
#include "api/patch/patch.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::value recorded(const std::string& name) {
  const std::string path = std::string(COREHOLD_SOURCE_DIR) + "/tests/recorded/" + name;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    ADD_FAILURE() << path << " cannot be read";
    return {};
  }
  std::string text;
  std::vector<char> buffer(65536);
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0;) {
    text.append(buffer.data(), n);
  }
  json::parse_options options;
  options.max_depth = 100;
  json::error_code problem;
  json::value value = json::parse(text, problem, {}, options);
  EXPECT_FALSE(problem) << path << ": " << problem.message();
  return value;
}

void erase_at(json::value& root, std::string_view pointer) {
  const std::size_t slash = pointer.rfind('/');
  json::error_code problem;
  json::value* parent = root.find_pointer(pointer.substr(0, slash), problem);
  ASSERT_NE(parent, nullptr) << pointer;
  std::string key(pointer.substr(slash + 1));
  for (std::size_t at = 0; (at = key.find("~1")) != std::string::npos;) key.replace(at, 2, "/");
  if (parent->is_object()) {
    EXPECT_EQ(parent->get_object().stable_erase(key), 1U) << pointer;
  } else {
    json::array& list = parent->get_array();
    list.erase(list.begin() + std::stol(key));
  }
}

// ---- patches

// What the server added to an object beyond the patch.
struct Added {
  std::size_t number;
  std::string_view pointer;
  std::string_view reason;
};
constexpr std::string_view kDefault = "a default, set after any write";
constexpr Added kAdded[] = {
    {6, "/spec/tolerations/3", "admission gives every pod two tolerations"},
    {6, "/spec/tolerations/2", "admission gives every pod two tolerations"},
    {9, "/status/conditions/0/lastProbeTime", "null, written for the empty field of a type"},
    {10, "/status/conditions/0/lastProbeTime", "null, written for the empty field of a type"},
    {14, "/spec/containers/0/ports/0/protocol", kDefault},
    {14, "/spec/containers/0/resources", kDefault},
    {14, "/spec/containers/0/terminationMessagePath", kDefault},
    {14, "/spec/containers/0/terminationMessagePolicy", kDefault},
    {14, "/spec/containers/0/imagePullPolicy", kDefault},
    {14, "/spec/containers/1/resources", kDefault},
    {14, "/spec/containers/1/terminationMessagePath", kDefault},
    {14, "/spec/containers/1/terminationMessagePolicy", kDefault},
    {14, "/spec/containers/1/imagePullPolicy", kDefault},
    {14, "/spec/containers/2/resources", kDefault},
    {14, "/spec/containers/2/terminationMessagePath", kDefault},
    {14, "/spec/containers/2/terminationMessagePolicy", kDefault},
    {14, "/spec/containers/2/imagePullPolicy", kDefault},
};

// The patch itself is fine; the validation of the pod that results refuses it.
struct Refused {
  std::size_t number;
  std::string_view containers;  // that result
};
constexpr Refused kRefusedLater[] = {
    {4, R"(["a","b"])"},
    {13, R"(["b"])"},
    {15, "null"},
};

PatchRequest request_of(const json::object& request, const std::string& body) {
  PatchRequest patch{.body = body, .now = std::chrono::milliseconds(0)};
  const json::string& type = request.at("headers").at("Content-Type").as_string();
  const auto kind = patch_kind(type);
  EXPECT_TRUE(kind) << type;
  patch.kind = kind.value_or(PatchKind::kMerge);
  const std::string_view path = request.at("path").as_string();
  if (path.find("fieldManager=me") != std::string_view::npos) patch.field_manager = "me";
  if (path.find("/status") != std::string_view::npos) patch.subresource = "status";
  return patch;
}

std::string names_of_containers(const json::object& pod) {
  const json::value* list = pod.at("spec").as_object().if_contains("containers");
  if (list == nullptr) return "null";
  json::array names;
  for (const json::value& container : list->as_array()) names.push_back(container.at("name"));
  return json::serialize(names);
}

// Versions and counters are the caller's to raise.
json::object comparable(json::value object) {
  json::object& metadata = object.at("metadata").as_object();
  metadata.erase("resourceVersion");
  metadata.erase("generation");
  metadata.erase("managedFields");
  return std::move(object.as_object());
}

void expect_as_recorded(std::size_t number, const json::object& one) {
  SCOPED_TRACE(std::to_string(number) + " " + std::string(one.at("about").as_string()));
  const std::string body = json::serialize(one.at("request").at("body"));
  const PatchRequest request = request_of(one.at("request").as_object(), body);
  // The recorder left managedFields out; the object's writer had no name.
  const json::object current =
      record_update("Pod", {}, one.at("before").as_object(),
                    {.manager = "unknown", .now = std::chrono::milliseconds(0)});
  const auto result = apply_patch("Pod", current, request);
  for (const Refused& refused : kRefusedLater) {
    if (refused.number != number) continue;
    EXPECT_EQ(one.at("code"), 422);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(names_of_containers(*result), refused.containers);
    return;
  }
  if (const json::value* response = one.if_contains("response")) {
    ASSERT_FALSE(result);
    EXPECT_EQ(json::value(to_json(result.error())), *response)
        << json::serialize(to_json(result.error()));
    return;
  }
  ASSERT_TRUE(result) << result.error().message;
  json::value after = one.at("after");
  for (const Added& added : kAdded) {
    if (added.number == number) erase_at(after, added.pointer);
  }
  EXPECT_EQ(comparable(*result), comparable(after)) << json::serialize(comparable(*result)) << '\n'
                                                    << json::serialize(comparable(after));
}

TEST(RecordedPatches, GiveTheObjectOrTheStatusOfARealServer) {
  const json::value document = recorded("patch/patches.json");
  const json::array& cases = document.at("cases").as_array();
  EXPECT_EQ(cases.size(), 28U);
  for (std::size_t i = 0; i < cases.size(); ++i) expect_as_recorded(i, cases[i].as_object());
}

// ---- managedFields

struct Write {
  const char* file;
  const char* subresource;
  std::vector<std::string_view> unowned{};  // that admission added when the fields were recorded
};

const json::object& review_of(const json::value& document) {
  if (const json::value* example = document.as_object().if_contains("example")) {
    return example->at("body").at("request").as_object();
  }
  return document.at("webhookCalls").at(0).at("body").at("request").as_object();
}

void expect_as_recorded(const Write& write) {
  SCOPED_TRACE(write.file);
  const json::value document = recorded(std::string("webhook/") + write.file);
  const json::object& review = review_of(document);
  json::value next = review.at("object");
  const json::array expected = next.at("metadata").at("managedFields").as_array();
  const json::object before =
      review.at("oldObject").is_object() ? review.at("oldObject").as_object() : json::object();
  for (const std::string_view pointer : write.unowned) erase_at(next, pointer);

  // The writer is the one whose entry is newest.
  FieldWriter writer{.subresource = write.subresource};
  for (const json::value& entry : expected) {
    const auto time = parse_time(entry.at("time").as_string());
    ASSERT_TRUE(time);
    if (*time < writer.now) continue;
    writer.now = *time;
    writer.manager = entry.at("manager").as_string();
  }
  // The server had put the new entries there already.
  json::object sent = without_managed_fields(next.as_object());
  const json::object result =
      record_update(std::string(next.at("kind").as_string()), before, std::move(sent), writer);
  EXPECT_EQ(result.at("metadata").at("managedFields"), expected)
      << json::serialize(result.at("metadata").at("managedFields")) << '\n'
      << json::serialize(expected);
}

TEST(RecordedManagedFields, AreThoseOfARealServer) {
  const std::vector<std::string_view> of_pods{"/spec/tolerations", "/spec/priority",
                                              "/spec/preemptionPolicy"};
  for (const Write& write : std::vector<Write>{
           {"01-create-pod-unbound.json", "", of_pods},
           {"05-update-labels.json", ""},
           {"07-update-image.json", ""},
           {"09-update-put-tolerations.json", ""},
           {"11-resize-cpu-2-4.json", "resize"},
           {"15-resize-unbound.json", "resize"},
           {"16-create-pod-init.json",
            "",
            {"/spec/tolerations", "/spec/priority", "/spec/preemptionPolicy",
             "/metadata/labels/topology.kubernetes.io~1zone"}},
           {"17-resize-app-of-pod-with-init.json", "resize"},
           {"18-resize-sidecar.json", "resize"},
           {"19-resize-init.json", "resize"},
           {"21-resize-pod-level.json", "resize"},
           {"23-update-pod-status.json", "status"},
           {"24-update-node-status.json", "status"},
           {"25-update-node-annotation.json", ""},
           {"27-ephemeral.json", "ephemeralcontainers"},
           {"33-create-node.json", ""},
           {"91-life-of-a-real-pod.json", "status"},
       }) {
    expect_as_recorded(write);
  }
}

}  // namespace
}  // namespace corehold
