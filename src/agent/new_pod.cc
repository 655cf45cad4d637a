// SPDX-License-Identifier: Apache-2.0
#include "agent/new_pod.h"

#include <algorithm>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "runtime/launch.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;
constexpr int kSuffix = 5;
constexpr const char* kNominalMemory = "1Mi";

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// metadata.generateName, with a random end.
Result<std::string> generated_name(const json::object& raw) {
  const json::object* metadata = TRY(object_field(raw, Path(), "metadata"));
  if (metadata == nullptr) return std::string();
  const std::string prefix = TRY(string_field(*metadata, Path() / "metadata", "generateName"));
  if (prefix.empty()) return std::string();
  return prefix + random_suffix(kSuffix);
}

void check_names(const Pod& pod, std::vector<std::string>& found) {
  if (!pod.name.empty() && !is_dns_subdomain(pod.name)) {
    found.push_back(fmt::format(
        "metadata.name: {:?} must be lower-case letters, digits, '-' and '.', at most 253, "
        "beginning and ending with a letter or digit",
        pod.name));
  }
  for (const Container* container : in_starting_order(pod)) {
    if (container->name.empty() || is_dns_label(container->name)) continue;
    found.push_back(
        fmt::format("container name {:?} must be lower-case letters, digits and '-', at most 63, "
                    "beginning and ending with a letter or digit",
                    container->name));
  }
}

}  // namespace

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > kMaxSubdomain) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

Result<Pod> read_new_pod(std::string_view body, const std::string& namespace_name) {
  json::value document = TRY(parse_json(body));
  if (!document.is_object()) return Error{Code::kInvalid, "the body is no JSON object"};
  Pod pod = TRY(pod_from_json(std::move(document.get_object())));
  if (pod.name.empty()) pod.name = TRY(generated_name(pod.raw));
  if (pod.namespace_name.empty()) pod.namespace_name = namespace_name;
  if (pod.namespace_name != namespace_name) {
    return Error{Code::kInvalid, fmt::format("the pod says namespace {:?}, the request {:?}",
                                             pod.namespace_name, namespace_name)};
  }
  set_defaults(pod);
  return pod;
}

Result<void> accept_new_pod(Pod& pod) {
  pod.uid = random_uuid();
  pod.qos_class.clear();
  pod.phase.clear();
  std::vector<std::string> found = mistakes(pod);
  check_names(pod, found);
  for (std::string& mistake : mistakes_of(pod)) found.push_back(std::move(mistake));
  if (found.empty()) return {};
  return Error{Code::kInvalid,
               fmt::format("pod {}: {}", display_name(pod), fmt::join(found, "; "))};
}

Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup) {
  const Decision alone = admit(setup.rules(), setup.empty, pod);
  if (!alone.refusal) return {};
  // An odd request is not too large a one.
  const bool is_odd = alone.refusal->reason == "SMTAlignmentError";
  return Error{Code::kInvalid,
               alone.refusal->message + (is_odd ? "" : "; more than this node can ever give")};
}

Pod run_pod(const RunRequest& request) {
  const std::string memory = request.memory.empty() ? kNominalMemory : request.memory;
  const json::object amounts{{"cpu", fmt::to_string(request.cpus)}, {"memory", memory}};
  json::object container{{"name", kRunContainer},
                         {"command", json::value_from(request.command)},
                         {"resources", json::object{{"limits", amounts}, {"requests", amounts}}}};
  if (!request.working_directory.empty()) container["workingDir"] = request.working_directory;
  const std::string name = request.name.empty() ? "run-" + random_suffix(kSuffix) : request.name;
  auto pod = pod_from_json(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", json::object{{"name", name},
                                 {"namespace", "default"},
                                 {"annotations", json::object{{kRunAnnotation, "true"}}}}},
       {"spec", json::object{{"restartPolicy", "Never"},
                             {"containers", json::array{std::move(container)}}}}});
  CHECK(pod);
  set_defaults(*pod);
  return *std::move(pod);
}

}  // namespace corehold
