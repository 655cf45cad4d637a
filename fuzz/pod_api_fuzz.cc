// SPDX-License-Identifier: Apache-2.0
//
// Pods as clients send them: whatever it is, it is refused with a Status or becomes a pod that
// stays as it is when it is prepared, read or changed into itself once more; and a resize
// changes resources only. The input is one byte of rules, a body, a zero byte, another body.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/node/node_update.h"
#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"
#include "api/pod/pod_update.h"
#include "base/check.h"
#include "gotext/go_json_syntax.h"

namespace {

namespace json = boost::json;
using corehold::ApiPod;
using corehold::ApiResult;
using corehold::ApiStatus;
using corehold::FieldValidation;
using corehold::PodPath;
using corehold::PodRules;

constexpr corehold::NewPodRequest kRequest{.namespace_name = "default", .name_suffix = "x7k2p"};

// What a client may be made to read is bounded, a thousand mistakes at the most.
void check_status(const ApiStatus& status, std::size_t sent) {
  CHECK(corehold::http_code(status) >= 400 && corehold::http_code(status) < 500);
  CHECK(!status.message.empty() && status.causes.size() <= 1000);
  CHECK(status.message.size() <= 1000 * (sent + 4096));
}

void check_again(const json::object& pod, const PodRules& rules) {
  std::vector<std::string> warnings;
  const auto again = corehold::prepare_new_pod(pod, kRequest, rules, warnings);
  CHECK(again && json::serialize(again->json()) == json::serialize(pod));
  warnings.clear();
  const auto read =
      corehold::read_object("Pod", json::serialize(pod), FieldValidation::kStrict, warnings);
  CHECK(read && *read == pod && warnings.empty());
}

void check_update(const ApiPod& old, const json::object& next, const PodRules& rules,
                  std::size_t sent) {
  for (const PodPath path : {PodPath::kObject, PodPath::kStatus, PodPath::kResize}) {
    std::vector<std::string> warnings;
    const auto changed = corehold::prepare_pod_update(old, next, {.path = path}, rules, warnings);
    if (!changed) {
      check_status(changed.error(), sent);
      continue;
    }
    if (path == PodPath::kStatus) CHECK(!changed->is_new_spec);
    const corehold::FieldWriter writer{.manager = "fuzz"};
    const auto again = corehold::prepare_pod_update(
        changed->pod, changed->pod.json(), {.path = path, .writer = &writer}, rules, warnings);
    CHECK(again && again->is_same && !again->is_new_spec);
  }
}

// A pod with what the caller gives.
ApiPod stored(json::object pod) {
  json::object& metadata = pod["metadata"].as_object();
  metadata["uid"] = "u";
  metadata["resourceVersion"] = "7";
  metadata["generation"] = 3;
  metadata["creationTimestamp"] = "2026-11-15T20:41:00Z";
  auto made = ApiPod::read(std::move(pod));
  CHECK(made);
  return *std::move(made);
}

void check_bodies(std::string_view first, std::string_view second, const PodRules& rules) {
  std::vector<std::string> warnings;
  auto body = corehold::read_object("Pod", first, FieldValidation::kWarn, warnings);
  if (!body) return check_status(body.error(), first.size());
  auto pod = corehold::prepare_new_pod(*body, kRequest, rules, warnings);
  if (!pod) return check_status(pod.error(), first.size());
  check_again(pod->json(), rules);
  const ApiPod old = stored(pod->json());
  check_update(old, old.json(), rules, first.size());
  auto next = corehold::read_object("Pod", second, FieldValidation::kIgnore, warnings);
  if (!next) return check_status(next.error(), second.size());
  json::object named = *next;
  named["metadata"].as_object()["name"] = old.pod().name;
  check_update(old, *next, rules, first.size() + second.size());
  check_update(old, named, rules, first.size() + second.size());
}

void check_node(std::string_view text) {
  std::vector<std::string> warnings;
  auto node = corehold::read_object("Node", text, FieldValidation::kIgnore, warnings);
  if (!node) return check_status(node.error(), text.size());
  const auto changed =
      corehold::prepare_node_update({{"metadata",
                                      {{"name", node->at("metadata").as_object().contains("name")
                                                    ? node->at("metadata").at("name")
                                                    : json::value("n")}}}},
                                    *node, {.path = corehold::NodePath::kStatus});
  if (!changed) return check_status(changed.error(), text.size());
  const auto again =
      corehold::prepare_node_update(*changed, *changed, {.path = corehold::NodePath::kStatus});
  CHECK(again && *again == *changed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty()) return 0;
  const PodRules rules{.assigned_resources = (data[0] & 1U) != 0,
                       .image_required = (data[0] & 2U) != 0};
  const std::string_view bodies = text.substr(1);
  const std::size_t end = bodies.find('\0');
  const std::string_view first = bodies.substr(0, end);
  const std::string_view second =
      end == std::string_view::npos ? std::string_view() : bodies.substr(end + 1);
  check_bodies(first, second, rules);
  check_node(second);
  json::error_code failed;
  json::parse(first, failed);
  if (!failed) CHECK(corehold::go_json_problem(first).empty());
  return 0;
}
