// SPDX-License-Identifier: Apache-2.0
//
// What the API does with one pod between the request's text and the manager's command, and what
// it costs to show a pod: the parts of a write that do not depend on how many pods there are.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/json.hpp>

#include "api/patch/patch.h"
#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"
#include "api/pod/pod_update.h"
#include "api/serve/object_version.h"
#include "base/check.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kPod = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web",
    "labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"i:1",
    "command":["serve","--port","80"],"env":[{"name":"A","value":"b"}],"volumeMounts":[
    {"name":"data","mountPath":"/data"}],"resources":{"limits":{"cpu":"2","memory":"1Gi"}}},
    {"name":"side","image":"i:1","command":["log"],"resources":{"limits":{"cpu":"1",
    "memory":"64Mi"}}}],"volumes":[{"name":"data","emptyDir":{}}]}})";
constexpr std::string_view kLabel = R"({"metadata":{"labels":{"round":"7"}}})";
constexpr std::string_view kResize = R"({"spec":{"containers":[{"name":"main","resources":{
    "limits":{"cpu":"4"},"requests":{"cpu":"4"}}}]}})";

const FieldWriter kWriter{.manager = "bench", .now = std::chrono::hours(500'000)};

ApiPod created(std::string_view text) {
  std::vector<std::string> warnings;
  auto body = read_object("Pod", text, FieldValidation::kWarn, warnings);
  CHECK(body);
  auto pod = prepare_new_pod(*std::move(body), {.namespace_name = "default", .writer = &kWriter},
                             {.image_required = false}, warnings);
  CHECK(pod);
  return *std::move(pod);
}

// As the catalogue has it.
ObjectVersion shown() {
  json::object pod = created(kPod).take_json();
  json::object& metadata = pod["metadata"].as_object();
  metadata["uid"] = "3f1c";
  metadata["generation"] = 1;
  metadata["creationTimestamp"] = "2026-11-17T10:00:00Z";
  return {Resource::kPods, std::move(pod), 7};
}

void create(benchmark::State& state) {
  for (const auto unused : state) benchmark::DoNotOptimize(created(kPod).take_stored());
}
BENCHMARK(create);

void change(benchmark::State& state, std::string_view body, PodPath path) {
  const ObjectVersion old = shown();
  const PatchRequest patch{.kind = PatchKind::kStrategic, .body = body};
  std::vector<std::string> warnings;
  for (const auto unused : state) {
    const auto current = ApiPod::read(old.parsed());
    CHECK(current);
    const auto patched = apply_patch("Pod", current->json(), patch);
    CHECK(patched);
    auto next = read_patched("Pod", *patched, patch, FieldValidation::kWarn, warnings);
    CHECK(next);
    auto made = prepare_pod_update(*current, *std::move(next), {.path = path, .writer = &kWriter},
                                   {.image_required = false}, warnings);
    CHECK(made && !made->is_same);
    benchmark::DoNotOptimize(std::move(made->pod).take_stored());
  }
}
BENCHMARK_CAPTURE(change, label, kLabel, PodPath::kObject);
BENCHMARK_CAPTURE(change, resize, kResize, PodPath::kResize);

}  // namespace
}  // namespace corehold
