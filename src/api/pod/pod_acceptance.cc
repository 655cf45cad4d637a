// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_acceptance.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/json/json_look.h"
#include "api/object/object_rules.h"
#include "api/object/typed_reader.h"
#include "api/patch/patch_body.h"
#include "api/pod/pod_annotations.h"
#include "api/pod/pod_validation.h"

namespace corehold {
namespace {

namespace json = boost::json;

void check_names(const Pod& pod, std::vector<std::string>& found) {
  if (!pod.name.empty() && !dns_subdomain_problems(pod.name).empty()) {
    found.push_back(fmt::format(
        "metadata.name: {:?} must be lower-case letters, digits, '-' and '.', at most 253, "
        "beginning and ending with a letter or digit",
        pod.name));
  }
  for (const Container* container : in_starting_order(pod)) {
    if (container->name.empty() || dns_label_problems(container->name).empty()) continue;
    found.push_back(
        fmt::format("container name {:?} must be lower-case letters, digits and '-', at most 63, "
                    "beginning and ending with a letter or digit",
                    container->name));
  }
}

// With each change of a container the whole pod is shown anew, so the work for a pod grows with
// the square of its containers, and all of it delays the other clients.
void check_container_count(const Pod& pod, std::vector<std::string>& found) {
  const std::size_t count = in_starting_order(pod).size();
  if (count <= kMaxPodContainers) return;
  found.push_back(
      fmt::format("spec.containers: {} containers, init containers included, are more "
                  "than the {} that this node runs in a pod; make several pods",
                  count, kMaxPodContainers));
}

// A Kubernetes API server has refused these before it is asked for a pod.
void check_place(const Pod& pod, const NodeRules& rules, FieldErrors& errors) {
  if (!dns_label_problems(pod.namespace_name).empty()) {
    errors.refused(ErrorPath("metadata") / "namespace",
                   fmt::format("{:?} is no name of a namespace", pod.namespace_name));
  }
  const std::string_view node = look_text(pod.raw, {"spec", "nodeName"});
  if (!rules.name.empty() && !node.empty() && node != rules.name) {
    errors.refused(ErrorPath("spec") / "nodeName",
                   fmt::format("this is the API of node {:?} alone", rules.name));
  }
}

}  // namespace

FieldErrors pod_mistakes(const json::object& pod, const Result<ApiPod>& model,
                         const PodRules& rules) {
  FieldErrors errors;
  check_own_annotations({}, pod, errors);
  check_pod(pod, rules, errors);
  if (!look_array(pod, {"spec", "ephemeralContainers"}).empty()) {
    errors.forbidden(ErrorPath("spec") / "ephemeralContainers", "cannot be set on create");
  }
  if (!errors.empty() || !model || !rules.node) return errors;
  check_place(model->pod(), *rules.node, errors);
  const std::string unfit = node_mistakes_text(model->pod(), *rules.node);
  if (!unfit.empty()) errors.refused(ErrorPath("spec"), unfit);
  return errors;
}

std::optional<ApiStatus> refuse_too_long(const json::object& pod, const json::object& before) {
  const std::size_t size = json::serialize(pod).size();
  if (size <= kMaxObjectBytes || size <= json::serialize(before).size()) return std::nullopt;
  return patch_too_large(fmt::format(
      "a pod may have {} bytes as JSON, this one has {}; keep data in files and name them",
      kMaxObjectBytes, size));
}

std::vector<std::string> node_mistakes(const Pod& pod, const NodeRules& rules) {
  std::vector<std::string> found = mistakes(pod);
  check_names(pod, found);
  check_container_count(pod, found);
  if (!rules.unrunnable) return found;
  for (std::string& mistake : rules.unrunnable(pod)) found.push_back(std::move(mistake));
  return found;
}

std::string node_mistakes_text(const Pod& pod, const NodeRules& rules) {
  const std::vector<std::string> found = node_mistakes(pod, rules);
  if (found.empty()) return "";
  return fmt::format("pod {}: {}", display_name(pod), fmt::join(found, "; "));
}

}  // namespace corehold
